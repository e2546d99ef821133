import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import { type DueNotice, noticeWaitMillisMax } from '../outbox/ports.js';
import type { Connection } from './connection.js';

/** A table of queued messages. */
type MessageTable = 'notice_rows' | 'alert_rows';

interface Settled {
  readonly state?: 'delivered' | 'given_up';
  readonly delivered_at?: string;
  readonly next_at: string;
  readonly last_error: string | null;
}

interface Queued extends Omit<DueNotice, 'queuedAt'> {
  readonly queued_at: string;
  readonly next_at: string;
}

/** Returns the latest time that an attempt may wait for. A later one was scheduled under a clock that was ahead. */
export const latestAttempt = (now: Instant): Instant =>
  instantFromMillis(millisOf(now) + noticeWaitMillisMax);

/** Returns the messages before the first that waits for another attempt: it blocks those behind it. */
export function unblocked(rows: readonly Queued[], now: Instant): readonly DueNotice[] {
  const latest = latestAttempt(now);
  const blocking = rows.findIndex(({ next_at }) => next_at > now && next_at <= latest);
  return (blocking === -1 ? rows : rows.slice(0, blocking)).map(({ queued_at, next_at: _, ...row }) => ({
    ...row,
    queuedAt: queued_at as Instant,
  }));
}

/** What notices and alerts have in common: attempts at delivery, and what becomes of a message after them. */
export abstract class MessageQueue {
  constructor(
    protected readonly connection: Connection,
    private readonly table: MessageTable,
  ) {}

  async putOff(notice: number, until: Instant): Promise<void> {
    await this.connection.run((db) =>
      db.updateTable(this.table).set({ next_at: until }).where('notice', '=', notice).execute(),
    );
  }

  async begin(notice: number): Promise<string | null> {
    const row = await this.connection.run((db) =>
      db
        .updateTable(this.table)
        .set((set) => ({ attempts: set('attempts', '+', 1) }))
        .where('notice', '=', notice)
        .where('state', '=', 'pending')
        .returning('body')
        .executeTakeFirst(),
    );
    return row?.body ?? null;
  }

  delivered(notice: number, at: Instant): Promise<void> {
    return this.#settle(notice, { state: 'delivered', delivered_at: at, next_at: at, last_error: null });
  }

  /** `error` is rosterd's own text, without any part of the receiver's response. */
  retryLater(notice: number, nextAt: Instant, error: string): Promise<void> {
    return this.#settle(notice, { next_at: nextAt, last_error: error });
  }

  giveUp(notice: number, at: Instant, error: string): Promise<void> {
    return this.#settle(notice, { state: 'given_up', next_at: at, last_error: error });
  }

  /**
   * Makes an undelivered message due now, as if it had not been tried, and ends the wait of those to the same target that were
   * tried: they would hold it up. Returns false when there is no such message.
   */
  async resend(notice: number, at: Instant): Promise<boolean> {
    const resent = await this.connection.run((db) =>
      db
        .updateTable(this.table)
        .set({ state: 'pending', next_at: at, attempts: 0, last_error: null })
        .where('notice', '=', notice)
        .where('state', '<>', 'delivered')
        .returning('target')
        .executeTakeFirst(),
    );
    if (resent === undefined) return false;
    await this.connection.run((db) =>
      db
        .updateTable(this.table)
        .set({ next_at: at })
        .where('target', '=', resent.target)
        .where('state', '=', 'pending')
        .where('attempts', '>', 0)
        .where('next_at', '>', at)
        .execute(),
    );
    return true;
  }

  /** Deletes messages delivered before `before`. Messages that were given up stay, for an operator to see. */
  async purge(before: Instant): Promise<number> {
    const result = await this.connection.run((db) =>
      db
        .deleteFrom(this.table)
        .where('state', '=', 'delivered')
        .where('delivered_at', '<', before)
        .executeTakeFirstOrThrow(),
    );
    return Number(result.numDeletedRows);
  }

  async #settle(notice: number, change: Settled): Promise<void> {
    await this.connection.run((db) =>
      db
        .updateTable(this.table)
        .set(change)
        .where('notice', '=', notice)
        .where('state', '=', 'pending')
        .execute(),
    );
  }
}
