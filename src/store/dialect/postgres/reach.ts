import { isFault } from '../../../domain/fault.js';
import { addressText } from '../../database-location.js';
import { isServerAway, withPostgresFaults } from './faults.js';
import { makeClient, type ServerAddress, urlOf } from './make-client.js';
import { readOnlyCode } from './retire-read-only.js';

/** A reachable server answers within milliseconds; the next attempt follows within a second anyway. */
const answerMillis = 1_000;

/** Whether the error means that the server is unreachable, starting up or shutting down. */
export function isAway(error: unknown): boolean {
  return isFault(error, 'database_busy') && isServerAway(error.about.cause);
}

/**
 * Probes the server with one query on a new connection. Throws `database_busy` or `database_unusable` if it fails or would
 * accept no writes: what waits for the server would fail again, and close its connections.
 */
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
      const { rows } = await client.query('SHOW transaction_read_only');
      if (rows[0]?.transaction_read_only === 'on')
        throw Object.assign(new Error('the server accepts no writes'), { code: readOnlyCode });
    } finally {
      // Not awaited: `end` waits for the server, which may be unreachable again.
      void client.end().catch(() => {});
    }
  });
}
