import type { Kysely, Selectable } from 'kysely';
import { Fault } from '../../domain/fault.js';
import type { Json } from '../../domain/json.js';
import type { RecordColumns } from '../schema-columns.js';
import type { ChangesView } from '../view-schema.js';
import type { ChangeSignal } from './change-signal.js';
import type { ReadDatabase } from './views.js';

type JsonColumn = 'blockers' | 'contracts' | 'extra';

/** Values of columns of `investments`, as they are there; JSON columns are parsed. Never identity. */
export type ChangedColumns = Readonly<
  Partial<Omit<RecordColumns, 'observed_at' | 'reason' | JsonColumn> & Record<JsonColumn, Json>>
>;

export interface Change extends Omit<Readonly<Selectable<ChangesView>>, 'fields' | 'before' | 'after'> {
  /** Names of the columns that changed; those of identity begin with `identity.`. */
  readonly fields: readonly string[];
  /**
   * The columns that changed, as they were; of a removed investment all columns. Null for an added one, and when the
   * version is not stored any more.
   */
  readonly before: ChangedColumns | null;
  /** The same columns after the change; of an added investment all columns. Null for a removed one, and as above. */
  readonly after: ChangedColumns | null;
}

export interface ChangesWanted {
  /** Returns changes with a greater `seq`; 0 for all of them. */
  readonly after: number;
  readonly source?: string;
  /** At most this many; without it, a thousand. */
  readonly limit?: number;
}

const batchMax = 1_000;

/** Returns up to a thousand changes in their order. Call again with the last `seq` until the result is empty. */
export async function changesSince(db: Kysely<ReadDatabase>, wanted: ChangesWanted): Promise<Change[]> {
  let query = db.selectFrom('changes').selectAll().where('seq', '>', wanted.after);
  if (wanted.source !== undefined) query = query.where('source', '=', wanted.source);
  const rows = await query
    .orderBy('seq')
    .limit(wanted.limit ?? batchMax)
    .execute();
  return rows.map(changeOf);
}

/** Returns the newest changes in their order. */
export async function newestChanges(
  db: Kysely<ReadDatabase>,
  { limit, source }: { readonly limit: number; readonly source?: string },
): Promise<Change[]> {
  const query = db.selectFrom('changes').selectAll();
  const wanted = source === undefined ? query : query.where('source', '=', source);
  const rows = await wanted.orderBy('seq', 'desc').limit(limit).execute();
  return rows.reverse().map(changeOf);
}

const changeOf = (row: Selectable<ChangesView>): Change => ({
  ...row,
  fields: JSON.parse(row.fields) as string[],
  before: columnsIn(row.before),
  after: columnsIn(row.after),
  company_name: row.company_name ?? null,
  round_name: row.round_name ?? null,
});

/** The view of an earlier version that was not migrated yet lacks the newest columns. */
const columnsIn = (text: string | null | undefined): ChangedColumns | null =>
  text == null ? null : (JSON.parse(text) as ChangedColumns);

/** Returns the number of the last change; 0 before the first. */
export async function newestChange(db: Kysely<ReadDatabase>): Promise<number> {
  const newest = await db
    .selectFrom('changes')
    .select('seq')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest?.seq ?? 0;
}

/**
 * Yields changes as they are committed, until `signal` fires. When there is nothing new, it waits for `news`. The order
 * of `seq` is the commit order, so no change can appear before one already read. `known` is a number the feed has
 * reached before: throws `database_unusable` for a feed that never reached it, which is an older copy whose next changes
 * would be missed. A feed whose newest changes were deleted with their source goes on.
 */
export async function* followChanges(
  db: Kysely<ReadDatabase>,
  wanted: ChangesWanted & { readonly known?: number },
  news: Pick<ChangeSignal, 'next' | 'lastAssigned'>,
  signal: AbortSignal,
): AsyncGenerator<Change> {
  let { after, known = 0 } = wanted;
  while (!signal.aborted) {
    // Read before the changes, so that none committed in between is skipped. Changes of other sources are not reread.
    const newest = await newestChange(db);
    const changes = await changesSince(db, { ...wanted, after });
    if (newest < known && ((await news.lastAssigned()) ?? newest) < known) throw olderCopy(newest, known);
    yield* changes;
    after = changes.at(-1)?.seq ?? Math.max(after, newest);
    known = Math.max(known, newest, changes.at(-1)?.seq ?? 0);
    if (changes.length === 0) await news.next(signal);
  }
}

function olderCopy(newest: number, known: number): Fault {
  return new Fault(
    'database_unusable',
    `the mirror is an older copy: its changes end with ${newest}, and ${known} was there before`,
    {
      hint: `new changes reuse numbers that were read already: compare the data, then continue with --since ${newest}`,
    },
  );
}
