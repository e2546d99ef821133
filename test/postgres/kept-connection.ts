import pg from 'pg';

/**
 * Returns a function that runs statements over one connection. Loops that wait for a row use it: a connection for each look takes
 * the server and the test more time than the statement. The connection ends after a second without a statement, does not keep
 * the process, and may be ended by the server.
 */
export function keptConnection(
  connectionString: string,
): <Row extends object = Record<string, unknown>>(sql: string) => Promise<Row[]> {
  const pool = new pg.Pool({ connectionString, max: 1, idleTimeoutMillis: 1_000, allowExitOnIdle: true });
  pool.on('error', () => {});
  return async <Row extends object>(sql: string) => (await pool.query<Row>(sql)).rows;
}
