import type { Kysely } from 'kysely';
import type { Clock } from '../../../runtime/clock.js';
import { Interrupter } from '../../../runtime/interruption.js';
import { sql } from '../../query-builder.js';
import type { ReadDatabase } from '../../reads/views.js';
import { type ChangeSignal, pollMillis } from '../port.js';
import { changeChannel } from './change-channel.js';
import type { ServerAddress } from './make-client.js';
import { OwnConnection } from './own-connection.js';

/** While notifications arrive, the feed is still read, and the connection probed, this often. */
const probeMillis = 5_000;

/**
 * Waits for commits by LISTEN and NOTIFY while notifications arrive, and polls otherwise: a pooler may not forward
 * notifications, and a connection may die without an error. It notifies itself regularly to find out.
 */
export class ListenNotifySignal implements ChangeSignal {
  readonly #connection: OwnConnection;
  readonly #echoes = new Set<string>();
  #delivers = false;
  #signalled = false;
  #wake = new Interrupter();
  #probing: Promise<void> | null = null;
  #probedAt = Number.NEGATIVE_INFINITY;

  private constructor(
    server: ServerAddress,
    private readonly db: Kysely<ReadDatabase>,
    private readonly channel: string,
    private readonly clock: Clock,
  ) {
    this.#connection = new OwnConnection({
      server,
      channel,
      applicationName: 'rosterd-changes',
      onPayload: (payload) => {
        if (payload === '') this.#signal();
        else this.#echoes.add(payload);
      },
      onConnected: () => this.#signal(),
    });
  }

  /** Resolves once it is listening, or once it knows that notifications do not arrive. */
  static async open(
    server: ServerAddress,
    db: Kysely<ReadDatabase>,
    clock: Clock,
  ): Promise<ListenNotifySignal> {
    const { rows } = await sql<{ channel: string }>`SELECT ${sql.raw(changeChannel)} AS channel`.execute(db);
    const news = new ListenNotifySignal(server, db, rows[0]?.channel ?? '', clock);
    await news.#probe();
    return news;
  }

  async next(signal: AbortSignal): Promise<void> {
    if (!this.#signalled && !signal.aborted) {
      const wake = new Interrupter();
      const stop = () => wake.abort();
      this.#wake = wake;
      signal.addEventListener('abort', stop, { once: true });
      await this.clock.wait(this.#delivers ? probeMillis : pollMillis, wake);
      signal.removeEventListener('abort', stop);
    }
    this.#signalled = false;
    if (!signal.aborted && this.clock.monotonic() - this.#probedAt >= probeMillis) void this.#probe();
  }

  async lastAssigned(): Promise<number | null> {
    // An analyst may read the view `changes` only.
    const { rows: rights } = await sql<{ granted: number }>`
      SELECT CASE WHEN has_table_privilege(to_regclass('feed_counter'), 'SELECT') THEN 1 ELSE 0 END AS granted
    `.execute(this.db);
    if (rights[0]?.granted !== 1) return null;
    const { rows } = await sql<{ last_seq: number }>`SELECT last_seq FROM feed_counter`.execute(this.db);
    return Number(rows[0]?.last_seq ?? 0);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #signal(): void {
    this.#signalled = true;
    this.#wake.abort();
  }

  #probe(): Promise<void> {
    this.#probedAt = this.clock.monotonic();
    this.#probing ??= this.#checkDelivery().finally(() => {
      this.#probing = null;
    });
    return this.#probing;
  }

  /** Notifies its own session: the notification arrives before the result of the query. Never rejects. */
  async #checkDelivery(): Promise<void> {
    this.#echoes.clear();
    try {
      const [row] = await this.#connection.rows<{ self: string }>(notifySelf, this.channel);
      this.#delivers = row !== undefined && this.#echoes.has(row.self);
    } catch {
      this.#delivers = false;
    }
    this.#echoes.clear();
  }
}

const notifySelf = 'SELECT pg_backend_pid()::text AS self, pg_notify($1, pg_backend_pid()::text)';
