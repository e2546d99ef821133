import type { Kysely } from 'kysely';
import { historyOf } from '../history.js';
import type { ReadDatabase } from '../views.js';

/** The number of newest changes shown; versions are all shown. */
const changesMax = 200;

/** Returns an investment with its versions and changes. The person is included on request, as stored now. */
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
