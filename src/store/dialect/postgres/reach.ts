import { isFault } from '../../../domain/fault.js';
import { addressText } from '../../database-location.js';
import { isServerAway, withPostgresFaults } from './faults.js';
import { makeClient, type ServerAddress, urlOf } from './make-client.js';

/** A reachable server answers within milliseconds; the next attempt follows within a second anyway. */
const answerMillis = 1_000;

/** Whether the error means that the server is unreachable, starting up or shutting down. */
export function isAway(error: unknown): boolean {
  return isFault(error, 'database_busy') && isServerAway(error.about.cause);
}

/** Probes the server with one query on a new connection. Throws `database_busy` or `database_unusable` if it fails. */
export async function reachPostgres(server: ServerAddress): Promise<void> {
  await withPostgresFaults(addressText(urlOf(server)), async () => {
    const client = makeClient(server, {
      connectionTimeoutMillis: answerMillis,
      query_timeout: answerMillis,
      application_name: 'rosterd-probe',
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.query('SELECT 1');
    } finally {
      // Not awaited: `end` waits for the server, which may be unreachable again.
      void client.end().catch(() => {});
    }
  });
}
