import type { Kysely } from 'kysely';
import type { Instant } from '../domain/instant.js';
import type { DueNotice, Outbox as OutboxPort, ReadNotice, Spacing } from '../outbox/ports.js';
import type { Connection } from './connection.js';
import { latestAttempt, MessageQueue, unblocked } from './message-queue.js';
import type { ReadDatabase } from './reads/views.js';

/**
 * Notices, each queued by the commit of its change. Delivery is at least once: a crash after sending causes a repeat.
 */
export class Outbox extends MessageQueue implements OutboxPort {
  constructor(connection: Connection) {
    super(connection, 'notice_rows');
  }

  /**
   * Returns due notices in the order of their changes. A notice that waits for another attempt blocks those behind it.
   * A notice that was never attempted and only waits for its minute to end does not.
   */
  async dueFor(target: string, now: Instant, max: number): Promise<readonly DueNotice[]> {
    const latest = latestAttempt(now);
    const rows = await this.connection.run((db) =>
      db
        .selectFrom('notices')
        .select(['notice', 'source', 'target', 'body', 'queued_at', 'attempts', 'next_at'])
        .where('state', '=', 'pending')
        .where('target', '=', target)
        .where(({ or, eb }) =>
          or([eb('next_at', '<=', now), eb('next_at', '>', latest), eb('attempts', '>', 0)]),
        )
        .orderBy('notice')
        .limit(max)
        .execute(),
    );
    return unblocked(rows, now);
  }

  async waiting(): Promise<readonly { readonly target: string; readonly dueAt: Instant }[]> {
    const rows = await this.connection.run((db) =>
      db
        .selectFrom('notice_rows')
        .select(({ fn }) => [
          'target',
          // A notice that was attempted blocks the rest of its target, so its time is the target's.
          fn.max<string | null>('next_at').filterWhere('attempts', '>', 0).as('blockedUntil'),
          fn.min<string>('next_at').as('dueAt'),
        ])
        .where('state', '=', 'pending')
        .groupBy('target')
        .execute(),
    );
    return rows.map(({ target, blockedUntil, dueAt }) => ({
      target,
      dueAt: (blockedUntil ?? dueAt) as Instant,
    }));
  }

  async about(notice: number, since: Instant, until: Instant): Promise<Spacing> {
    const others = await this.connection.run((db) =>
      db
        .selectFrom('notice_rows as one')
        .innerJoin('change_rows as told', 'told.seq', 'one.seq')
        .innerJoin('change_rows as change', (join) =>
          join.onRef('change.id', '=', 'told.id').onRef('change.source_no', '=', 'told.source_no'),
        )
        .innerJoin('notice_rows as other', (join) =>
          join.onRef('other.seq', '=', 'change.seq').onRef('other.target', '=', 'one.target'),
        )
        .select(['other.notice', 'other.body', 'other.state', 'other.next_at'])
        .where('one.notice', '=', notice)
        .where('other.notice', '<>', notice)
        .where(({ or, and, eb }) =>
          or([
            and([
              eb('other.state', '=', 'pending'),
              eb('other.attempts', '=', 0),
              eb('other.notice', '<', notice),
            ]),
            and([
              eb('other.state', '<>', 'pending'),
              eb('other.next_at', '>', since),
              eb('other.next_at', '<=', until),
            ]),
          ]),
        )
        .orderBy('other.notice')
        .execute(),
    );
    const tried = others.filter(({ state }) => state !== 'pending').map(({ next_at }) => next_at);
    const earlier = others.find(({ state }) => state === 'pending');
    return {
      triedAt: (tried.sort().at(-1) ?? null) as Instant | null,
      earlier: earlier === undefined ? null : { notice: earlier.notice, body: earlier.body },
    };
  }

  /**
   * Writes before it deletes: a crash in between, or a commit that changes `later`, leaves both notices, and merging them again
   * gives the right result.
   */
  async merge(into: number, later: ReadNotice, body: string): Promise<void> {
    const { numUpdatedRows } = await this.connection.run((db) =>
      db
        .updateTable('notice_rows')
        .set(({ selectFrom }) => ({
          body,
          seq: selectFrom('notice_rows as later')
            .select('later.seq')
            .where('later.notice', '=', later.notice),
        }))
        .where('notice', '=', into)
        .where('state', '=', 'pending')
        .where('attempts', '=', 0)
        .where(({ exists }) => exists(pendingNotice(db, later.notice).where('body', '=', later.body)))
        .executeTakeFirstOrThrow(),
    );
    if (Number(numUpdatedRows) === 0) return;
    await this.connection.run((db) =>
      db
        .deleteFrom('notice_rows')
        .where('notice', '=', later.notice)
        .where('body', '=', later.body)
        .where('state', '=', 'pending')
        .execute(),
    );
  }

  async drop(earlier: number, later: ReadNotice): Promise<void> {
    await this.connection.run((db) =>
      db
        .deleteFrom('notice_rows')
        .where(({ or, and, eb }) =>
          or([
            and([eb('notice', '=', earlier), eb('attempts', '=', 0)]),
            and([eb('notice', '=', later.notice), eb('body', '=', later.body)]),
          ]),
        )
        .where('state', '=', 'pending')
        .where(({ exists }) => exists(pendingNotice(db, earlier).where('attempts', '=', 0)))
        .where(({ exists }) => exists(pendingNotice(db, later.notice).where('body', '=', later.body)))
        .execute(),
    );
  }

  /** Returns the newest notices that were given up or whose last attempt failed. */
  async undelivered(max: number) {
    return await this.connection.run((db) =>
      db
        .selectFrom('notices')
        .select(['notice', 'source', 'target', 'queued_at', 'state', 'attempts', 'last_error'])
        .where('state', '<>', 'delivered')
        .where('last_error', 'is not', null)
        .orderBy('notice', 'desc')
        .limit(max)
        .execute(),
    );
  }
}

const pendingNotice = (db: Kysely<ReadDatabase>, notice: number) =>
  db
    .selectFrom('notice_rows as one')
    .select('one.notice')
    .where('one.notice', '=', notice)
    .where('one.state', '=', 'pending');
