import type { Instant } from '../domain/instant.js';
import type { Connection } from './connection.js';

export interface DueNotice {
  readonly notice: number;
  readonly source: string;
  readonly target: string;
  /** JSON: ids and amounts, never a name. */
  readonly body: string;
  readonly queuedAt: Instant;
  readonly attempts: number;
}

/** Notices queued by the commits they tell of. Delivered at least once: a crash after sending sends again. */
export class Outbox {
  constructor(private readonly connection: Connection) {}

  /** Notices that may be sent now, in the order of their changes. */
  async due(now: Instant, max: number): Promise<readonly DueNotice[]> {
    const rows = await this.connection.run((db) =>
      db
        .selectFrom('notices')
        .select(['notice', 'source', 'target', 'body', 'queued_at', 'attempts'])
        .where('state', '=', 'pending')
        .where('next_at', '<=', now)
        .orderBy('notice')
        .limit(max)
        .execute(),
    );
    return rows.map(({ queued_at, ...row }) => ({ ...row, queuedAt: queued_at as Instant }));
  }

  /** When the next pending notice is due; null when none is pending. */
  async nextDue(): Promise<Instant | null> {
    const row = await this.connection.run((db) =>
      db
        .selectFrom('notice_rows')
        .select('next_at')
        .where('state', '=', 'pending')
        .orderBy('next_at')
        .limit(1)
        .executeTakeFirst(),
    );
    return (row?.next_at ?? null) as Instant | null;
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
