import pg from 'pg';
import { addressText } from '../../database-location.js';
import { withPostgresFaults } from './faults.js';
import { valueTypes } from './values.js';

export interface OwnConnectionParts {
  readonly url: string;
  /** What pg_stat_activity calls it. */
  readonly applicationName: string;
  readonly channel: string;
  readonly onPayload: (payload: string) => void;
  /** Connected, at first or again: what was announced before was not heard. */
  readonly onConnected: () => void;
  /** The connection ended, and not because this side closed it. */
  readonly onLost?: () => void;
}

/** A server that does not answer for so long is as good as gone, and asked anew over another connection. */
const answerMillis = 5_000;

/**
 * One connection beside the pool: for statements that must not wait until somebody's page is written, and for
 * listening, which no connection of a pool can do. It connects when it is asked something, and again after it was
 * lost.
 */
export class OwnConnection {
  readonly #parts: OwnConnectionParts;
  #client: Promise<pg.Client> | null = null;
  /** The one `#client` is or will be. */
  #current: pg.Client | null = null;
  #closed = false;

  constructor(parts: OwnConnectionParts) {
    this.#parts = parts;
  }

  async rows<Row>(text: string, ...values: readonly unknown[]): Promise<Row[]> {
    return withPostgresFaults(addressText(this.#parts.url), async () => {
      const client = await this.#connected();
      try {
        return (await client.query(text, [...values])).rows as Row[];
      } catch (error) {
        // The driver gives up the question, and would let all others wait behind it.
        if (!(error instanceof pg.DatabaseError)) this.#lose(client);
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = await this.#client?.catch(() => null);
    // Saying goodbye waits for an answer, however long; a question does not, and after it the driver hangs up.
    await client?.query('UNLISTEN *').catch(() => {});
    await client?.end().catch(() => {});
  }

  /** Its end may be heard of when there is another already. */
  #lose(client: pg.Client): void {
    if (this.#current === client) {
      this.#current = null;
      this.#client = null;
      if (!this.#closed) this.#parts.onLost?.();
    }
    // One that timed out may still be open on our side.
    void client.end().catch(() => {});
  }

  #connected(): Promise<pg.Client> {
    if (this.#closed) throw new Error('the connection was closed');
    this.#client ??= this.#connect();
    return this.#client;
  }

  async #connect(): Promise<pg.Client> {
    const { url, applicationName, channel, onPayload, onConnected } = this.#parts;
    const client = new pg.Client({
      connectionString: url,
      application_name: applicationName,
      connectionTimeoutMillis: answerMillis,
      query_timeout: answerMillis,
      keepAlive: true,
      // Several parts ask over it at once, and none waits for the answer of another.
      pipeline: true,
      types: valueTypes,
    });
    this.#current = client;
    client.on('error', () => this.#lose(client));
    client.once('end', () => this.#lose(client));
    client.on('notification', ({ payload }) => {
      if (payload !== undefined) onPayload(payload);
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      this.#lose(client);
      throw error;
    }
    onConnected();
    return client;
  }
}
