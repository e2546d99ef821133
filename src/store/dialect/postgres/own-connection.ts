import pg from 'pg';
import { addressText } from '../../database-location.js';
import { withPostgresFaults } from './faults.js';
import { readCommitted } from './isolation.js';
import { makeClient, type ServerAddress, urlOf } from './make-client.js';
import { readOnlyCode } from './retire-read-only.js';
import { valueTypes } from './values.js';

export interface OwnConnectionParts {
  readonly server: ServerAddress;
  /** The name of the connection in pg_stat_activity. */
  readonly applicationName: string;
  readonly channel: string;
  readonly onPayload: (payload: string) => void;
  /** Called after each connect or reconnect: notifications sent before were missed. */
  readonly onConnected: () => void;
  /** Called when the connection ended without `close`. */
  readonly onLost?: () => void;
}

/** A server that takes longer is considered dead; the next query uses a new connection. */
const answerMillis = 5_000;
/**
 * The server gives up earlier, and says why: otherwise its process would wait on for the lock after the connection is closed,
 * beside those of all later queries.
 */
const lockMillis = 4_000;

/**
 * A dedicated connection outside the pool, for statements that must not queue behind a page write, and for LISTEN,
 * which needs a session of its own. It connects on the first query, and reconnects on the next one after a loss.
 */
export class OwnConnection {
  readonly #parts: OwnConnectionParts;
  #client: Promise<pg.Client> | null = null;
  /** The client that `#client` resolves to. */
  #current: pg.Client | null = null;
  #closed = false;

  constructor(parts: OwnConnectionParts) {
    this.#parts = parts;
  }

  async rows<Row>(text: string, ...values: readonly unknown[]): Promise<Row[]> {
    return withPostgresFaults(addressText(urlOf(this.#parts.server)), async () => {
      const client = await this.#connected();
      try {
        return (await client.query(text, [...values])).rows as Row[];
      } catch (error) {
        // The driver gave up waiting for this query, and every later one would wait behind it; or the server only reads
        // since a failover, and a new connection leads to the primary.
        if (!(error instanceof pg.DatabaseError) || error.code === readOnlyCode) this.#handleLoss(client);
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const client = await this.#client?.catch(() => null);
    // `end` alone has no timeout. A query has one, and after it fails the driver closes the socket.
    await client?.query('UNLISTEN *').catch(() => {});
    await client?.end().catch(() => {});
  }

  /** May be called for an old client when a new one is already connected. */
  #handleLoss(client: pg.Client): void {
    if (this.#current === client) {
      this.#current = null;
      this.#client = null;
      if (!this.#closed) this.#parts.onLost?.();
    }
    // A client that timed out may still have an open socket.
    void client.end().catch(() => {});
  }

  #connected(): Promise<pg.Client> {
    if (this.#closed) throw new Error('the connection was closed');
    const connecting = this.#client ?? this.#connect();
    this.#client = connecting;
    // The driver may fail before there is a client, if it cannot read the certificate authority. The next query tries again.
    connecting.catch(() => {
      if (this.#client === connecting) this.#client = null;
    });
    return connecting;
  }

  async #connect(): Promise<pg.Client> {
    const { server, applicationName, channel, onPayload, onConnected } = this.#parts;
    const client = makeClient(server, {
      application_name: applicationName,
      connectionTimeoutMillis: answerMillis,
      query_timeout: answerMillis,
      keepAlive: true,
      // Several callers share the connection, and none waits for the result of another.
      pipeline: true,
      types: valueTypes,
    });
    this.#current = client;
    client.on('error', () => this.#handleLoss(client));
    client.once('end', () => this.#handleLoss(client));
    client.on('notification', ({ payload }) => {
      if (payload !== undefined) onPayload(payload);
    });
    try {
      await client.connect();
      await client.query(
        `${readCommitted}; SET lock_timeout = ${lockMillis}; LISTEN ${pg.escapeIdentifier(channel)}`,
      );
    } catch (error) {
      this.#handleLoss(client);
      throw error;
    }
    onConnected();
    return client;
  }
}
