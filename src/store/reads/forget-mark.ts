import type { Kysely } from 'kysely';
import type { ReadDatabase } from './views.js';

/** Returns a text that differs after every further forget request and every further erased source. */
export async function forgetMark(db: Kysely<ReadDatabase>): Promise<string> {
  const { requests, last } = await db
    .selectFrom('erasures')
    .select(({ fn }) => [fn.countAll().as('requests'), fn.max('erasure').as('last')])
    .where('cause', 'in', ['forget', 'source_erased'])
    .executeTakeFirstOrThrow();
  return `${requests}-${last ?? 0}`;
}
