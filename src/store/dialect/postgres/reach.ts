import pg from 'pg';
import { isFault } from '../../../domain/fault.js';
import { addressText } from '../../database-location.js';
import { isServerAway, withPostgresFaults } from './faults.js';

/** A reachable server answers within milliseconds; the next attempt follows within a second anyway. */
const answerMillis = 1_000;

/** Whether the error means that the server is unreachable, starting up or shutting down. */
export function isAway(error: unknown): boolean {
  return isFault(error, 'database_busy') && isServerAway(error.about.cause);
}

/** Probes the server with one query on a new connection. Throws `database_busy` or `database_unusable` if it fails. */
export async function reachPostgres(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: answerMillis,
    query_timeout: answerMillis,
    application_name: 'rosterd-probe',
  });
  client.on('error', () => {});
  await withPostgresFaults(addressText(url), async () => {
    try {
      await client.connect();
      await client.query('SELECT 1');
    } finally {
      // Not awaited: `end` waits for the server, which may be unreachable again.
      void client.end().catch(() => {});
    }
  });
}
