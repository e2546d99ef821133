import type { Kysely } from 'kysely';
import { historyOf } from '../history.js';
import type { ReadDatabase } from '../views.js';

/** The newest changes of a record that are shown; its versions are shown all. */
const changesMax = 200;

/** One investment as it is and was. The person only when asked for, and only as held now: identity has no history. */
export async function readRecord(db: Kysely<ReadDatabase>, source: string, id: string, identity: boolean) {
  const versions = await historyOf(db, id, source);
  if (versions.length === 0) return null;
  const changes = await db
    .selectFrom('changes')
    .select(['seq', 'kind', 'fields', 'reason', 'at'])
    .where('source', '=', source)
    .where('id', '=', id)
    .orderBy('seq', 'desc')
    .limit(changesMax)
    .execute();
  const person = identity
    ? await db
        .selectFrom('identities')
        .select([
          ...(['name', 'legal_name', 'email', 'address_line', 'city', 'state', 'postal_code'] as const),
          ...(['country', 'bio', 'message', 'external_username'] as const),
        ])
        .where('source', '=', source)
        .where('id', '=', id)
        .executeTakeFirst()
    : undefined;
  return {
    versions,
    changes: changes.map((change) => ({ ...change, fields: JSON.parse(change.fields) as string[] })),
    person: person ?? null,
  };
}
