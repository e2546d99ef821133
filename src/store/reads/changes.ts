import type { Kysely, Selectable } from 'kysely';
import type { ChangesView } from '../schema.js';
import type { ChangeNews } from './change-news.js';
import type { ReadDatabase } from './views.js';

export type Change = Omit<Selectable<ChangesView>, 'fields'> & { readonly fields: readonly string[] };

export interface ChangesWanted {
  /** Changes with a greater `seq`; 0 for all of them. */
  readonly after: number;
  readonly source?: string;
}

const batchMax = 1_000;

/** Up to a thousand changes in their order. Ask again with the last `seq`; an empty answer means there are no more. */
export async function changesSince(db: Kysely<ReadDatabase>, wanted: ChangesWanted): Promise<Change[]> {
  let query = db.selectFrom('changes').selectAll().where('seq', '>', wanted.after);
  if (wanted.source !== undefined) query = query.where('source', '=', wanted.source);
  const rows = await query.orderBy('seq').limit(batchMax).execute();
  return rows.map((row) => ({ ...row, fields: JSON.parse(row.fields) as string[] }));
}

/** Number of the last change; 0 before the first. */
export async function newestChange(db: Kysely<ReadDatabase>): Promise<number> {
  const newest = await db
    .selectFrom('changes')
    .select('seq')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return newest?.seq ?? 0;
}

/** Runs a look at the database as often as it takes; null when it was told to stop before there was an answer. */
export type Patiently = <Result>(look: () => Promise<Result>) => Promise<Result | null>;

/**
 * Changes as they are committed, until `signal` fires. Where there was nothing new it looks again when `news` says so.
 * Order of `seq` is order of commit, so nothing can appear behind what was already seen.
 */
export async function* followChanges(
  db: Kysely<ReadDatabase>,
  wanted: ChangesWanted,
  news: Pick<ChangeNews, 'next'>,
  signal: AbortSignal,
  patiently: Patiently = (look) => look(),
): AsyncGenerator<Change> {
  let { after } = wanted;
  while (!signal.aborted) {
    const seen = await patiently(async () => {
      // Read before the changes, so that nothing between the two is passed over: what others wrote is not read again.
      const newest = await newestChange(db);
      return { newest, changes: await changesSince(db, { ...wanted, after }) };
    });
    if (seen === null) return;
    const { newest, changes } = seen;
    yield* changes;
    after = changes.at(-1)?.seq ?? Math.max(after, newest);
    if (changes.length === 0) await news.next(signal);
  }
}
