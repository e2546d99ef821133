import type pg from 'pg';
import type { Clock } from '../../../runtime/clock.js';
import { Interrupter } from '../../../runtime/interruption.js';
import { isServerAway } from './faults.js';
import { makeClient, type ServerAddress } from './make-client.js';

/** A connection that is in use for longer is checked. No page takes that long; the publication of a listing may. */
const busyMillis = 30_000;
const pauseMillis = 10_000;
/**
 * How long the server may take to accept a connection and answer: as long as for any other new connection. A server at the
 * limit of its processors takes seconds, and what it works on must not be ended for that.
 */
const answerMillis = 5_000;
/** One lost answer can be an accident. */
const missesMax = 3;

/**
 * Closes connections of a pool that are in use and will never get an answer: the server hangs, or the network dropped
 * the connection without a word. The driver would wait for ever. A fixed timeout would not do, because publishing a large
 * listing or rewriting a table takes as long as it takes: so the server is asked, over a new connection, whether it still
 * works for the connection. What waited for it fails with `database_busy` and is repeated as after any lost connection.
 */
export function watchPool(pool: pg.Pool, server: ServerAddress, clock: Clock): { close(): Promise<void> } {
  const since = new Map<pg.PoolClient, number>();
  pool.on('acquire', (client) => since.set(client, clock.monotonic()));
  pool.on('release', (_, client) => since.delete(client));
  pool.on('remove', (client) => since.delete(client));
  const closing = new AbortController();
  let misses = 0;
  /** What the server waited for at the last look. */
  let before = new Map<pg.PoolClient, string>();

  const look = async () => {
    const longest = clock.monotonic() - busyMillis;
    const busy = [...since].flatMap(([client, from]) => (from <= longest ? [client] : []));
    const waits = busy.length === 0 ? () => null : await waitsOf(server, busy, clock, closing.signal);
    if (closing.signal.aborted) return;
    misses = waits === null ? misses + 1 : 0;
    const now = new Map<pg.PoolClient, string>();
    for (const client of busy) {
      const waiting = waits?.(client) ?? null;
      if (waiting !== null) now.set(client, waiting);
      // Between two statements the server waits for a moment, too: it is lost when nothing came since the last look.
      const lost = waits === null ? misses >= missesMax : waiting !== null && before.get(client) === waiting;
      // It may have been given back meanwhile.
      if (lost && since.has(client)) client.connection.stream.destroy();
    }
    before = now;
  };
  const running = (async () => {
    while (!closing.signal.aborted) {
      await clock.wait(pauseMillis, closing.signal);
      if (!closing.signal.aborted) await look();
    }
  })();
  return {
    close: async () => {
      closing.abort();
      await running;
    },
  };
}

type Waits = (client: pg.PoolClient) => string | null;

/**
 * Returns since when the server waits for each connection to send something, as a function that returns null for one
 * that it works for; or null when the server does not answer. A connection pooler hides which connection is whose:
 * behind one, every connection counts as worked for.
 */
async function waitsOf(
  server: ServerAddress,
  clients: readonly pg.PoolClient[],
  clock: Clock,
  closing: AbortSignal,
): Promise<Waits | null> {
  const done = new Interrupter();
  const end = () => done.abort();
  closing.addEventListener('abort', end, { once: true });
  let probe: pg.Client | undefined;
  let answer: Waits | null = null;
  try {
    probe = makeClient(server, { application_name: 'rosterd-probe' });
    probe.on('error', () => {});
    answer = await Promise.race([ask(probe, clients), clock.wait(answerMillis, done).then(() => null)]);
    return answer;
  } catch (error) {
    // A server that refuses another connection is there.
    return isServerAway(error) ? null : () => null;
  } finally {
    closing.removeEventListener('abort', end);
    end();
    // Without an answer, `end` would wait for a server that may never send one.
    if (answer === null) probe?.connection.stream.destroy();
    else void probe?.end().catch(() => {});
  }
}

async function ask(probe: pg.Client, clients: readonly pg.PoolClient[]): Promise<Waits> {
  await probe.connect();
  const { rows } = await probe.query<{ pid: number; own: boolean; since: string | null }>(
    `SELECT pid, pid = pg_backend_pid() AS own, CASE WHEN state LIKE 'idle%' THEN state_change::text END AS since
     FROM pg_stat_activity WHERE pid = ANY($1) OR pid = pg_backend_pid()`,
    [clients.map(processOf)],
  );
  const mine = processOf(probe);
  if (!rows.some(({ pid, own }) => own && pid === mine)) return () => null;
  const found = new Map(rows.map((row) => [row.pid, row.since]));
  return (client) => {
    const since = found.get(processOf(client));
    return since === undefined ? 'ended' : since;
  };
}

/** Returns the server's number of the process behind a connection. */
function processOf(client: pg.ClientBase): number {
  return (client as pg.ClientBase & { readonly processID?: number | null }).processID ?? 0;
}
