import type { Instant } from '../domain/instant.js';
import type { Connection } from './connection.js';

/** A webhook whose signature was right. */
export interface ArrivedEvent {
  readonly eventId: string;
  readonly installation: string;
  readonly event: string;
  /** Null when no source of ours has this installation: kept to tell repeats, never worked. */
  readonly source: string | null;
  readonly investment: string | null;
  readonly observedAt: Instant | null;
  readonly test: boolean;
  readonly receivedAt: Instant;
  readonly body: string;
}

export interface PendingEvent {
  readonly inboxNo: number;
  readonly event: string;
  readonly investment: string | null;
  readonly observedAt: Instant | null;
  readonly receivedAt: Instant;
  readonly attempts: number;
}

export interface PendingSource {
  readonly source: string;
  readonly pending: number;
  /** When the earliest of them may be looked at. */
  readonly dueAt: Instant;
}

const hourMillis = 3_600_000;
/** The platform repeats a delivery for 72 hours; a day more covers a clock that is wrong. */
export const inboxKeepMillis = (72 + 24) * hourMillis;

/**
 * Webhooks accepted and not yet overtaken by a sync. `accept` is durable when it resolves: the receiver answers
 * 2xx only then. Give it a connection of its own with a short busy timeout, since waiting for another
 * program's lock holds up every other request. Throws `database_busy`, `database_full`, `database_unusable`.
 */
export class Inbox {
  constructor(private readonly connection: Connection) {}

  async accept(event: ArrivedEvent): Promise<'stored' | 'duplicate'> {
    const idle = event.source === null || event.test;
    const result = await this.connection.run((db) =>
      db
        .insertInto('webhook_inbox')
        .values({
          event_id: event.eventId,
          installation: event.installation,
          event: event.event,
          source: event.source,
          investment: event.investment,
          observed_at: event.observedAt,
          test: event.test ? 1 : 0,
          received_at: event.receivedAt,
          state: idle ? 'ignored' : 'pending',
          worked_at: idle ? event.receivedAt : null,
          body: idle ? null : event.body,
        })
        .onConflict((conflict) => conflict.columns(['event_id', 'installation']).doNothing())
        .executeTakeFirstOrThrow(),
    );
    return result.numInsertedOrUpdatedRows === 1n ? 'stored' : 'duplicate';
  }

  /** Sources with something to work, the one due first in front. */
  async pendingSources(): Promise<readonly PendingSource[]> {
    const rows = await this.connection.run((db) =>
      db
        .selectFrom('webhook_inbox')
        .select(({ fn }) => [
          'source',
          fn.countAll<number>().as('pending'),
          fn.min(fn.coalesce('next_at', 'received_at')).as('dueAt'),
        ])
        .where('state', '=', 'pending')
        .groupBy('source')
        .orderBy('dueAt')
        .execute(),
    );
    return rows.flatMap(({ source, pending, dueAt }) =>
      source === null ? [] : [{ source, pending, dueAt: dueAt as Instant }],
    );
  }

  /** What is due of a source, in the order of arrival. */
  async pending(source: string, now: Instant): Promise<readonly PendingEvent[]> {
    const rows = await this.connection.run((db) =>
      db
        .selectFrom('webhook_inbox')
        .select(['inbox_no', 'event', 'investment', 'observed_at', 'received_at', 'attempts'])
        .where('state', '=', 'pending')
        .where('source', '=', source)
        .where((where) => where.or([where('next_at', 'is', null), where('next_at', '<=', now)]))
        .orderBy('inbox_no')
        .execute(),
    );
    return rows.map((row) => ({
      inboxNo: row.inbox_no,
      event: row.event,
      investment: row.investment,
      observedAt: row.observed_at as Instant | null,
      receivedAt: row.received_at as Instant,
      attempts: row.attempts,
    }));
  }

  /**
   * Marks every pending event of the source up to `throughNo` as worked: one statement, whatever the size of
   * the burst. Those that arrived during the tick have a greater number and stay.
   */
  async worked(source: string, throughNo: number, at: Instant): Promise<number> {
    const result = await this.connection.run((db) =>
      db
        .updateTable('webhook_inbox')
        .set((set) => ({
          state: 'worked',
          worked_at: at,
          next_at: null,
          body: null,
          attempts: set('attempts', '+', 1),
        }))
        .where('state', '=', 'pending')
        .where('source', '=', source)
        .where('inbox_no', '<=', throughNo)
        .executeTakeFirstOrThrow(),
    );
    return Number(result.numUpdatedRows);
  }

  /** Done with one event: worked, or of no concern, or given up after too many attempts. */
  async settle(inboxNo: number, state: 'worked' | 'ignored' | 'given_up', at: Instant): Promise<void> {
    await this.connection.run((db) =>
      db
        .updateTable('webhook_inbox')
        .set((set) => ({
          state,
          worked_at: at,
          next_at: null,
          body: null,
          attempts: set('attempts', '+', 1),
        }))
        .where('inbox_no', '=', inboxNo)
        .where('state', '=', 'pending')
        .execute(),
    );
  }

  /** The feed does not show the change yet: look again at `nextAt`. */
  async retryLater(inboxNo: number, nextAt: Instant): Promise<void> {
    await this.connection.run((db) =>
      db
        .updateTable('webhook_inbox')
        .set((set) => ({ next_at: nextAt, attempts: set('attempts', '+', 1) }))
        .where('inbox_no', '=', inboxNo)
        .where('state', '=', 'pending')
        .execute(),
    );
  }

  /** Forgets events settled before `before`, usually now less `inboxKeepMillis`. Pending ones stay for ever. */
  async purge(before: Instant): Promise<number> {
    const result = await this.connection.run((db) =>
      db
        .deleteFrom('webhook_inbox')
        .where('state', '<>', 'pending')
        .where('worked_at', '<', before)
        .executeTakeFirstOrThrow(),
    );
    return Number(result.numDeletedRows);
  }

  async counts(): Promise<Readonly<Record<'pending' | 'worked' | 'ignored' | 'given_up', number>>> {
    const rows = await this.connection.run((db) =>
      db
        .selectFrom('webhook_inbox')
        .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
        .groupBy('state')
        .execute(),
    );
    const counts = { pending: 0, worked: 0, ignored: 0, given_up: 0 };
    for (const { state, count } of rows) counts[state] = count;
    return counts;
  }
}
