import type { Kysely, Selectable } from 'kysely';
import type { Instant } from '../../domain/instant.js';
import { sql } from '../query-builder.js';
import type { EndedBy } from '../schema-columns.js';
import type { InvestmentsView } from '../view-schema.js';
import { investmentColumns } from './columns.js';
import { namesOf, withNames } from './names.js';
import type { ReadDatabase } from './views.js';

/** A version of an investment; `valid_to` of the current one is null. */
export interface Version extends Selectable<InvestmentsView> {
  readonly valid_to: string | null;
  readonly ended_by: EndedBy | null;
}

/**
 * Returns every stored version of the id, by source, newest first, with the present names of companies and rounds. Empty
 * for an id the mirror never had. One statement reads them all: a version that is superseded meanwhile would be missing
 * from two, or come twice.
 */
export async function historyOf(db: Kysely<ReadDatabase>, id: string, source?: string): Promise<Version[]> {
  let current = db
    .selectFrom('investments')
    .select(investmentColumns)
    .select([sql<string | null>`NULL`.as('valid_to'), sql<EndedBy | null>`NULL`.as('ended_by')])
    .where('id', '=', id);
  let superseded = db
    .selectFrom('investment_history')
    .select(investmentColumns)
    .select(['valid_to', 'ended_by'])
    .where('id', '=', id);
  if (source !== undefined) {
    current = current.where('source', '=', source);
    superseded = superseded.where('source', '=', source);
  }
  const versions = await current.unionAll(superseded).execute();
  return versions.sort(
    (one, other) =>
      compare(one.source, other.source) ||
      other.change_seq - one.change_seq ||
      compare(endOf(other), endOf(one)),
  );
}

/** Returns the version that was current at `at`, in each source, with the names that companies and rounds had then. */
export async function historyAt(
  db: Kysely<ReadDatabase>,
  at: Instant,
  id: string,
  source?: string,
): Promise<readonly Version[]> {
  const versions = await historyOf(db, id, source);
  const current = versions.filter(
    ({ valid_from, valid_to }) => valid_from <= at && (valid_to === null || at < valid_to),
  );
  return withNames(current, await namesOf(db, { at, of: current }));
}

/** Versions of a record that was published again without a change have the same number. */
const endOf = ({ valid_to }: Version): string => valid_to ?? '9';

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
