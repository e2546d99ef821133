import { type Expression, type Kysely, type SqlBool, sql } from 'kysely';
import type { RosterFilter } from '../../../console/ports/roster.js';
import type { ReadDatabase } from '../views.js';

/** A filter whose rows are among those with these ids. */
export interface FoundFilter extends RosterFilter {
  readonly ids?: readonly string[];
}

/** A search that finds more reads the rows in the wanted order, and soon has a page of them. */
const idsMax = 1_000;

/**
 * Returns the filter with the ids of all people that a search over all companies can find, if they are few. The roster
 * joins each row with its source, company and round, so one pass over the people alone saves most of the work: a page,
 * its end and the count would each read the whole roster.
 */
export async function withFoundPeople(db: Kysely<ReadDatabase>, filter: RosterFilter): Promise<FoundFilter> {
  const { person, source, company, round, id } = filter;
  const isNarrow = [source, company, round, id].some((one) => one !== undefined);
  if (person === undefined || isNarrow || (await isNameOfMany(db, person))) return filter;
  const rows = await db
    .selectFrom('identity_rows as i')
    .crossJoin('investment_rows as r')
    .select('r.id')
    .whereRef('r.row_no', '=', 'i.row_no')
    .where(({ or }) => or(['i.name', 'i.legal_name', 'i.email'].map((column) => holds(column, person))))
    .limit(idsMax + 1)
    .execute();
  return rows.length > idsMax ? filter : { ...filter, ids: rows.map((row) => row.id) };
}

/** A company or a round has many investments. */
async function isNameOfMany(db: Kysely<ReadDatabase>, text: string): Promise<boolean> {
  const found = await db
    .selectFrom('company_rows')
    .select(sql<number>`1`.as('one'))
    .where(holds('name', text))
    .unionAll(db.selectFrom('offering_rows').select(sql<number>`1`.as('one')).where(holds('name', text)))
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Whether the column contains the text, in upper or lower case. */
export function holds(column: string, text: string): Expression<SqlBool> {
  const pattern = `%${text.toLowerCase().replaceAll(/[\\%_]/g, '\\$&')}%`;
  return sql<SqlBool>`lower(${sql.ref(column)}) LIKE ${pattern} ESCAPE '\\'`;
}
