import type { Instant } from '../domain/instant.js';
import type { DueNotice, Outbox as OutboxPort } from '../outbox/ports.js';
import type { Connection } from './connection.js';

/** Notices queued by the commits they tell of. Delivered at least once: a crash after sending sends again. */
export class Outbox implements OutboxPort {
  constructor(private readonly connection: Connection) {}

  /**
   * In the order of their changes. One that was tried and waits for its next attempt holds up those behind it; one
   * that never was, and only waits for its minute to end, does not.
   */
  async dueFor(target: string, now: Instant, max: number): Promise<readonly DueNotice[]> {
    const rows = await this.connection.run((db) =>
      db
        .selectFrom('notices')
        .select(['notice', 'source', 'target', 'body', 'queued_at', 'attempts', 'next_at'])
        .where('state', '=', 'pending')
        .where('target', '=', target)
        .where(({ or, eb }) => or([eb('next_at', '<=', now), eb('attempts', '>', 0)]))
        .orderBy('notice')
        .limit(max)
        .execute(),
    );
    const held = rows.findIndex(({ next_at }) => next_at > now);
    return (held === -1 ? rows : rows.slice(0, held)).map(({ queued_at, next_at: _, ...row }) => ({
      ...row,
      queuedAt: queued_at as Instant,
    }));
  }

  async waiting(): Promise<readonly { readonly target: string; readonly dueAt: Instant }[]> {
    const rows = await this.connection.run((db) =>
      db
        .selectFrom('notice_rows')
        .select(({ fn }) => [
          'target',
          // What was tried holds up the rest of its target, so its time is the target's.
          fn.max<string | null>('next_at').filterWhere('attempts', '>', 0).as('heldUntil'),
          fn.min<string>('next_at').as('dueAt'),
        ])
        .where('state', '=', 'pending')
        .groupBy('target')
        .execute(),
    );
    return rows.map(({ target, heldUntil, dueAt }) => ({ target, dueAt: (heldUntil ?? dueAt) as Instant }));
  }

  delivered(notice: number, at: Instant): Promise<void> {
    return this.settle(notice, { state: 'delivered', delivered_at: at, last_error: null });
  }

  /** `error` is a sentence of ours, without anything the other side said. */
  retryLater(notice: number, nextAt: Instant, error: string): Promise<void> {
    return this.settle(notice, { next_at: nextAt, last_error: error });
  }

  giveUp(notice: number, error: string): Promise<void> {
    return this.settle(notice, { state: 'given_up', last_error: error });
  }

  /** Forgets notices delivered before `before`. Those given up stay: somebody should see them. */
  async purge(before: Instant): Promise<number> {
    const result = await this.connection.run((db) =>
      db
        .deleteFrom('notice_rows')
        .where('state', '=', 'delivered')
        .where('delivered_at', '<', before)
        .executeTakeFirstOrThrow(),
    );
    return Number(result.numDeletedRows);
  }

  private async settle(
    notice: number,
    change: {
      state?: 'delivered' | 'given_up';
      delivered_at?: string;
      next_at?: string;
      last_error: string | null;
    },
  ): Promise<void> {
    await this.connection.run((db) =>
      db
        .updateTable('notice_rows')
        .set((set) => ({ ...change, attempts: set('attempts', '+', 1) }))
        .where('notice', '=', notice)
        .where('state', '=', 'pending')
        .execute(),
    );
  }
}
