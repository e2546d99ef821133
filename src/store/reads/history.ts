import type { Kysely, Selectable } from 'kysely';
import type { EndedBy } from '../schema-columns.js';
import type { InvestmentsView } from '../view-schema.js';
import { investmentColumns } from './columns.js';
import type { ReadDatabase } from './views.js';

/** A version of an investment; `valid_to` of the current one is null. */
export interface Version extends Selectable<InvestmentsView> {
  readonly valid_to: string | null;
  readonly ended_by: EndedBy | null;
}

/** Returns every stored version of the id, by source, newest first. Empty for an id the mirror never had. */
export async function historyOf(db: Kysely<ReadDatabase>, id: string, source?: string): Promise<Version[]> {
  let current = db
    .selectFrom('investments')
    .select(investmentColumns)
    .select(({ val }) => [val<string | null>(null).as('valid_to'), val<EndedBy | null>(null).as('ended_by')])
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
  const [now, before] = await Promise.all([
    current.execute(),
    superseded.orderBy('valid_from', 'desc').orderBy('change_seq', 'desc').execute(),
  ]);
  return [...now, ...before].sort(
    (one, other) => compare(one.source, other.source) || other.change_seq - one.change_seq,
  );
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
