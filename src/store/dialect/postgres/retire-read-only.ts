import type pg from 'pg';

/** A write reached a server that only reads. */
export const readOnlyCode = '25006';

/**
 * Closes the connections of a pool once one of them reports that its server accepts no writes. After a failover the
 * former primary may come back as a standby and keep sessions that rosterd opened before the address moved; a session
 * also keeps the read-only setting that it began with. A new connection goes where the address leads now. Without this,
 * every write of the process fails for as long as the old session lives.
 */
export function retireReadOnly(pool: pg.Pool): void {
  const idle = new Set<pg.PoolClient>();
  const used = new Set<pg.PoolClient>();
  const retired = new WeakSet<pg.PoolClient>();
  const retireAll = () => {
    for (const client of idle) client.connection.stream.destroy();
    for (const client of used) retired.add(client);
  };
  pool.on('connect', (client) => {
    client.connection.on('errorMessage', ({ code }: { readonly code?: string }) => {
      // Those that connected after the failover are closed as well, which costs a round trip.
      if (code === readOnlyCode) retireAll();
    });
  });
  pool.on('acquire', (client) => {
    idle.delete(client);
    used.add(client);
  });
  pool.on('release', (_, client) => {
    used.delete(client);
    // The pool removes a released connection that is ending. One that failed leaves it anyway.
    if (retired.has(client)) void client.end().catch(() => {});
    else idle.add(client);
  });
  pool.on('remove', (client) => {
    idle.delete(client);
    used.delete(client);
  });
}
