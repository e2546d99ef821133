import type { Expression, Kysely, SqlBool } from 'kysely';
import type { RosterFilter } from '../../../console/ports/roster.js';
import { sql } from '../../query-builder.js';
import type { ReadDatabase } from '../views.js';

/** A filter whose rows are among those with these ids. */
export interface FoundFilter extends RosterFilter {
  readonly ids?: readonly string[];
  /** No company and no round has such a name, so only those of people are compared. */
  readonly onlyPeople?: true;
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
  const found = { ...filter, onlyPeople: true } as const;
  return rows.length > idsMax ? found : { ...found, ids: rows.map((row) => row.id) };
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

/**
 * Whether the column contains the text, in upper or lower case, with each accent in one character with its letter (NFC) or as
 * one of its own behind it (NFD).
 */
export function holds(column: string, text: string): Expression<SqlBool> {
  const forms = [...new Set([text, text.normalize('NFC'), text.normalize('NFD')])];
  return sql<SqlBool>`(${sql.join(
    forms.map((form) => holdsForm(column, form)),
    sql` OR `,
  )})`;
}

/**
 * `lower` of both databases knows only ASCII here: SQLite's always, PostgreSQL's for columns that compare by bytes. So the
 * other letters of the text are replaced one by one.
 */
function holdsForm(column: string, text: string): Expression<SqlBool> {
  const letters = Array.from(text, lowered);
  const pattern = `%${letters.join('').replaceAll(/[!%_]/g, '!$&')}%`;
  let found = sql<string>`lower(${sql.ref(column)})`;
  for (const [upper, lower] of capitalsOf(letters))
    found = sql<string>`replace(${found}, ${upper}, ${lower})`;
  return sql<SqlBool>`${found} LIKE ${pattern} ESCAPE '!'`;
}

/** Keeps a letter whose small form is several characters: the replaced text has to stay comparable letter by letter. */
function lowered(letter: string): string {
  const lower = letter.toLowerCase();
  return lower.length === letter.length ? lower : letter;
}

const ascii = /^[\0-\x7f]$/;

/** Returns the letters beyond ASCII that have a capital of their own, with it. */
function capitalsOf(letters: readonly string[]): ReadonlyMap<string, string> {
  const capitals = new Map<string, string>();
  for (const letter of letters) {
    if (ascii.test(letter)) continue;
    const upper = letter.toUpperCase();
    // Not so for ı or the German ß, whose capitals are those of other letters.
    if (upper !== letter && lowered(upper) === letter) capitals.set(upper, letter);
  }
  return capitals;
}
