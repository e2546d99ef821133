import type { Kysely } from 'kysely';
import type { ReadDatabase } from './views.js';

/** Returns a text that differs after every further forget request. */
export async function forgetMark(db: Kysely<ReadDatabase>): Promise<string> {
  const { requests, last } = await db
    .selectFrom('erasures')
    .select(({ fn }) => [fn.countAll().as('requests'), fn.max('erasure').as('last')])
    .where('cause', '=', 'forget')
    .executeTakeFirstOrThrow();
  return `${requests}-${last ?? 0}`;
}
