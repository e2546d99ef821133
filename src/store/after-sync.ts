import type { Updateable } from 'kysely';
import type { Instant } from '../domain/instant.js';
import type {
  AfterSyncMessage,
  AfterSyncState,
  AfterSyncStore,
  QueuedMessage,
  SourceChanges,
} from '../outbox/ports.js';
import type { Connection } from './connection.js';
import type { AfterSyncRowsTable } from './operating-schema.js';
import { sql } from './query-builder.js';

/** The columns of a message, without one. */
const settled = { body: null, last_seq: null, queued_at: null, next_at: null, attempts: 0 } as const;

/** Counts the rows of a group for which the condition holds. */
const count = (condition: string) => sql<number>`count(*) FILTER (WHERE ${sql.raw(condition)})`;

/** What each after-sync hook has reported, and the message of a run that is not settled yet. */
export class AfterSyncHooks implements AfterSyncStore {
  constructor(private readonly connection: Connection) {}

  async state(hook: string): Promise<AfterSyncState> {
    const known = await this.#row(hook);
    if (known !== undefined) return known;
    await this.#begin(hook);
    const row = await this.#row(hook);
    if (row === undefined) throw new Error(`the hook ${hook} has no row`);
    return row;
  }

  async #row(hook: string): Promise<AfterSyncState | undefined> {
    const row = await this.connection.run((db) =>
      db.selectFrom('after_sync_rows').selectAll().where('hook', '=', hook).executeTakeFirst(),
    );
    if (row === undefined) return undefined;
    const { body, last_seq, queued_at, next_at, attempts } = row;
    return {
      doneSeq: row.done_seq,
      triedSeq: row.tried_seq,
      message:
        body === null || last_seq === null
          ? null
          : {
              body,
              lastSeq: last_seq,
              queuedAt: queued_at as Instant,
              nextAt: next_at as Instant,
              attempts,
            },
      lastError: row.last_error,
    };
  }

  /** What is in the mirror when a hook is first seen is not reported to it. */
  async #begin(hook: string): Promise<void> {
    const newest = await this.connection.run((db) =>
      db
        .selectFrom('change_rows')
        .select(({ fn }) => fn.max('seq').as('seq'))
        .executeTakeFirst(),
    );
    const seq = Number(newest?.seq ?? 0);
    await this.connection.run((db) =>
      db
        .insertInto('after_sync_rows')
        .values({ hook, done_seq: seq, tried_seq: seq })
        .onConflict((conflict) => conflict.column('hook').doNothing())
        .execute(),
    );
  }

  async firstChange(seq: number, sources: readonly string[] | null): Promise<Instant | null> {
    const row = await this.connection.run((db) => {
      const changes = db.selectFrom('change_rows as c').select('c.at').where('c.seq', '>', seq);
      const wanted =
        sources === null
          ? changes
          : changes.innerJoin('sources as s', 's.no', 'c.source_no').where('s.name', 'in', sources);
      return wanted.orderBy('c.seq').limit(1).executeTakeFirst();
    });
    return (row?.at ?? null) as Instant | null;
  }

  async changesAfter(seq: number, sources: readonly string[] | null): Promise<readonly SourceChanges[]> {
    const rows = await this.connection.run((db) => {
      const counted = db
        .selectFrom('change_rows as c')
        .innerJoin('sources as s', 's.no', 'c.source_no')
        .innerJoin('sync_status as now', 'now.source', 's.name')
        .select(({ fn, ref }) => [
          's.name as source',
          fn.min<number>('c.seq').as('first_seq'),
          fn.max<number>('c.seq').as('last_seq'),
          count(`c.about IS NULL AND c.kind = 'added'`).as('added'),
          count(`c.about IS NULL AND c.kind = 'changed'`).as('changed'),
          count(`c.about IS NULL AND c.kind = 'removed'`).as('removed'),
          count(`c.kind = 'snapshot'`).as('listed'),
          count('c.about IS NOT NULL').as('catalog'),
          ref('now.rows').as('rows'),
          ref('now.complete_up_to').as('complete_up_to'),
          ref('now.cursor_saved_at').as('cursor_saved_at'),
        ])
        .where('c.seq', '>', seq)
        .groupBy(['s.name', 'now.rows', 'now.complete_up_to', 'now.cursor_saved_at'])
        .orderBy('s.name');
      return (sources === null ? counted : counted.where('s.name', 'in', sources)).execute();
    });
    return rows.map((row) => ({
      source: row.source,
      first_seq: Number(row.first_seq),
      last_seq: Number(row.last_seq),
      added: Number(row.added),
      changed: Number(row.changed),
      removed: Number(row.removed),
      listed: Number(row.listed) > 0,
      catalog: Number(row.catalog),
      rows: Number(row.rows),
      complete_up_to: row.complete_up_to,
      cursor_saved_at: row.cursor_saved_at,
    }));
  }

  async queue(
    hook: string,
    { doneSeq, triedSeq }: AfterSyncState,
    { body, lastSeq, at }: QueuedMessage,
  ): Promise<boolean> {
    const result = await this.connection.run((db) =>
      db
        .updateTable('after_sync_rows')
        .set({ body, last_seq: lastSeq, tried_seq: lastSeq, queued_at: at, next_at: at, attempts: 0 })
        .where('hook', '=', hook)
        .where('body', 'is', null)
        .where('done_seq', '=', doneSeq)
        .where('tried_seq', '=', triedSeq)
        .executeTakeFirstOrThrow(),
    );
    return Number(result.numUpdatedRows) > 0;
  }

  async succeeded(hook: string, message: AfterSyncMessage, at: Instant): Promise<void> {
    await this.#settle(hook, message, {
      ...settled,
      done_seq: message.lastSeq,
      ran_at: at,
      succeeded_at: at,
      last_error: null,
    });
  }

  async retryLater(
    hook: string,
    message: AfterSyncMessage,
    at: Instant,
    nextAt: Instant,
    error: string,
  ): Promise<void> {
    await this.#settle(hook, message, {
      attempts: message.attempts + 1,
      ran_at: at,
      next_at: nextAt,
      last_error: error,
    });
  }

  giveUp(hook: string, message: AfterSyncMessage, at: Instant, error: string): Promise<void> {
    return this.#settle(hook, message, { ...settled, ran_at: at, last_error: error });
  }

  /** Changes nothing when another message is stored by now: in a fleet, a former leader's run may end late. */
  async #settle(
    hook: string,
    { lastSeq, queuedAt }: AfterSyncMessage,
    values: Updateable<AfterSyncRowsTable>,
  ): Promise<void> {
    await this.connection.run((db) =>
      db
        .updateTable('after_sync_rows')
        .set(values)
        .where('hook', '=', hook)
        .where('last_seq', '=', lastSeq)
        .where('queued_at', '=', queuedAt)
        .execute(),
    );
  }
}
