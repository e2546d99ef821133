import pg from 'pg';
import { isFault } from '../../../domain/fault.js';
import { addressText } from '../../database-location.js';
import { isServerAway, withPostgresFaults } from './faults.js';

/** A server that is there answers in a millisecond; the next attempt comes within a second anyway. */
const answerMillis = 1_000;

/** Whether the error says that the server could not be reached, or does not serve anybody yet. */
export function isAway(error: unknown): boolean {
  return isFault(error, 'database_busy') && isServerAway(error.about.cause);
}

/** One short question over a connection of its own. Throws `database_busy` or `database_unusable` without an answer. */
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
      // Saying goodbye waits for an answer that a server which is away again does not give.
      void client.end().catch(() => {});
    }
  });
}
