import type { Kysely } from 'kysely';
import type { ReadDatabase } from './views.js';

/**
 * Returns the sources most of whose investments have no identity, because they were stored before identity was granted.
 * A few always lack it: people who were forgotten or deactivated. Leaves out sources whose names a listing will complete.
 */
export async function namelessSources(db: Kysely<ReadDatabase>): Promise<ReadonlySet<string>> {
  const all = await db.selectFrom('sync_status').select(['source', 'rows', 'names_incomplete']).execute();
  const named = await db
    .selectFrom('identities')
    .select(({ fn }) => ['source', fn.countAll<number>().as('count')])
    .groupBy('source')
    .execute();
  const counts = new Map(named.map(({ source, count }) => [source, Number(count)]));
  const lacking = all.filter(
    ({ source, rows, names_incomplete }) => names_incomplete === 0 && (counts.get(source) ?? 0) * 2 < rows,
  );
  return new Set(lacking.map(({ source }) => source));
}

/** Returns the sources some of whose people have no name yet, until a listing completes them. */
export async function sourcesCompletingNames(
  db: Kysely<ReadDatabase>,
  source?: string,
): Promise<readonly string[]> {
  const all = db
    .selectFrom('sync_status')
    .select('source')
    .where('names_incomplete', '=', 1)
    .orderBy('source');
  const found = await (source === undefined ? all : all.where('source', '=', source)).execute();
  return found.map((one) => one.source);
}
