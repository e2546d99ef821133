import type { Kysely } from 'kysely';
import type { Instant } from '../../domain/instant.js';
import { versionsAt } from './as-of.js';
import type { ReadDatabase } from './views.js';

/** What companies and rounds are called; null for those without a name, and those that the mirror does not know. */
export interface Names {
  company(source: string, id: string | null): string | null;
  round(source: string, id: string | null): string | null;
}

/** A row that belongs to a company and a round. */
export interface Belonging {
  readonly source: string;
  readonly company_id: string | null;
  readonly offering_id?: string | null;
}

interface NamesWanted {
  readonly at?: Instant | undefined;
  readonly of?: readonly Belonging[];
  readonly source?: string | undefined;
}

/** More ids than these are not listed in a statement: it reads all names then. */
const idsMax = 500;

/**
 * Returns what companies and rounds are called or, with `at`, were called then, as `query --as-of` shows it. `of` limits
 * them to those of these rows, `source` to those of one source. Two statements, however many rows there are.
 */
export async function namesOf(db: Kysely<ReadDatabase>, { at, of, source }: NamesWanted): Promise<Names> {
  const read = async (
    view: 'companies' | 'rounds',
    ids: readonly (string | null | undefined)[] | undefined,
  ) => {
    const some = ids === undefined ? undefined : [...new Set(ids.filter((id) => id != null))];
    if (some?.length === 0) return new Map<string, string | null>();
    const rows = await db
      .selectFrom(versionsAt(view, ['source', 'id', 'name'], at, 'n'))
      .select(['n.source', 'n.id', 'n.name'])
      .$if(source !== undefined, (query) => query.where('n.source', '=', source ?? ''))
      .$if(some !== undefined && some.length <= idsMax, (query) => query.where('n.id', 'in', some ?? []))
      .execute();
    return new Map(rows.map(({ source, id, name }) => [keyOf(source, id), name]));
  };
  const companies = await read(
    'companies',
    of?.map((row) => row.company_id),
  );
  const rounds = await read(
    'rounds',
    of?.map((row) => row.offering_id),
  );
  return {
    company: (source, id) => (id === null ? null : (companies.get(keyOf(source, id)) ?? null)),
    round: (source, id) => (id === null ? null : (rounds.get(keyOf(source, id)) ?? null)),
  };
}

/** Returns the rows with what their companies and rounds are called. */
export const withNames = <Row extends Required<Belonging>>(rows: readonly Row[], names: Names) =>
  rows.map((row) => ({
    ...row,
    company_name: names.company(row.source, row.company_id),
    round_name: names.round(row.source, row.offering_id),
  }));

const keyOf = (source: string, id: string): string => JSON.stringify([source, id]);
