import type { Kysely } from 'kysely';
import type { ReadDatabase } from './views.js';

/**
 * Returns the sources most of whose investments have no identity, because they were stored before identity was granted.
 * A few always lack it: people who were forgotten or deactivated.
 */
export async function namelessSources(db: Kysely<ReadDatabase>): Promise<ReadonlySet<string>> {
  const all = await db.selectFrom('sync_status').select(['source', 'rows']).execute();
  const named = await db
    .selectFrom('identities')
    .select(({ fn }) => ['source', fn.countAll<number>().as('count')])
    .groupBy('source')
    .execute();
  const counts = new Map(named.map(({ source, count }) => [source, Number(count)]));
  return new Set(
    all.filter(({ source, rows }) => (counts.get(source) ?? 0) * 2 < rows).map(({ source }) => source),
  );
}
