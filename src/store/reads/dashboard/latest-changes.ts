import type { Kysely } from 'kysely';
import type { ChangedValues, ChangeSeen } from '../../../console/ports/overview.js';
import type { Instant } from '../../../domain/instant.js';
import type { ReadDatabase } from '../views.js';

/*
 * The newest changes, with what their investments, companies and rounds are called. Names are the present ones; those
 * of an investment that is gone are the ones of its last version.
 */

type Db = Kysely<ReadDatabase>;

interface Key {
  readonly source: string;
  readonly id: string;
}

/** What a change is about. */
type Subject = Pick<
  ChangeSeen,
  'company_id' | 'company_name' | 'offering_id' | 'round_name' | 'currency' | 'title'
>;

const nothing: Subject = {
  company_id: null,
  company_name: null,
  offering_id: null,
  round_name: null,
  currency: null,
  title: null,
};

/** Returns the newest changes, or those up to a time, latest first. */
export async function latestChanges(db: Db, rowsMax: number, at?: Instant): Promise<ChangeSeen[]> {
  const rows = await db
    .selectFrom('changes')
    .select(['seq', 'at', 'source', 'kind', 'id', 'fields', 'before', 'after'])
    .$if(at !== undefined, (query) => query.where('at', '<=', at ?? ''))
    .orderBy('seq', 'desc')
    .limit(rowsMax)
    .execute();
  const changes = rows.map(({ fields, before, after, ...row }) => ({
    ...row,
    seq: Number(row.seq),
    fields: JSON.parse(fields) as string[],
    before: valuesIn(before),
    after: valuesIn(after),
  }));
  const about = (kind: string) =>
    changes.flatMap(({ source, id, kind: own }) =>
      id !== null && aboutOf(own) === kind ? [{ source, id }] : [],
    );
  const finders: Readonly<Record<string, Finder>> = {
    investment: await namesOfInvestments(db, about('investment')),
    company: await companiesOf(db, about('company')),
    round: await roundsOf(db, about('round')),
    update: await postsOf(db, about('update')),
  };
  const seen = changes.map((change) => ({
    ...change,
    ...(finders[aboutOf(change.kind)]?.(change.source, change.id) ?? lastKnown(change)),
  }));
  // The last values of a round or post name its company by id alone.
  const unnamed = seen.flatMap(({ source, company_id: id, company_name: name }) =>
    id !== null && name === null ? [{ source, id }] : [],
  );
  const companies = await companiesOf(db, unnamed);
  return seen.map((change) => ({
    ...change,
    company_name: change.company_name ?? companies(change.source, change.company_id)?.company_name ?? null,
  }));
}

type Finder = (source: string | null, id: string | null) => Subject | undefined;

/** `company_added` is about a company, `added` about an investment. */
const aboutOf = (kind: string): string => /^(company|round|update)_/.exec(kind)?.[1] ?? 'investment';

/** Unknown fields may be personal, so they are left out. */
function valuesIn(text: string | null): ChangedValues | null {
  if (text === null) return null;
  const { extra: _, ...values } = JSON.parse(text) as Record<string, unknown>;
  return values;
}

/** A company or round that is gone has the names of its last values. */
function lastKnown({
  kind,
  id,
  before,
  after,
}: Pick<ChangeSeen, 'kind' | 'id' | 'before' | 'after'>): Subject {
  const last = (column: string): string | null => {
    const value = after?.[column] ?? before?.[column];
    return typeof value === 'string' ? value : null;
  };
  const about = aboutOf(kind);
  return {
    ...nothing,
    company_id: about === 'company' ? id : last('company_id'),
    company_name: about === 'company' ? last('name') : null,
    offering_id: about === 'round' ? id : last('offering_id'),
    round_name: about === 'round' ? last('name') : null,
    currency: last('currency'),
    title: last('title'),
  };
}

/** Returns a function that finds what an investment belongs to, also of one that is gone. */
export async function namesOfInvestments(db: Db, keys: readonly Key[]): Promise<Finder> {
  const columns = [
    ...(['source', 'id', 'company_id', 'company_name', 'offering_id', 'round_name', 'currency'] as const),
  ] as const;
  const current = await bySource(keys, (source, ids) =>
    db
      .selectFrom('investments')
      .select(columns)
      .where('source', '=', source)
      .where('id', 'in', ids)
      .execute(),
  );
  const known = finderOf(current.map((row) => ({ ...nothing, ...row })));
  const gone = keys.filter(({ source, id }) => known(source, id) === undefined);
  const past = await bySource(gone, (source, ids) =>
    db
      .selectFrom('investment_history')
      .select(columns)
      .where('source', '=', source)
      .where('id', 'in', ids)
      .orderBy('valid_to')
      .execute(),
  );
  const before = finderOf(past.map((row) => ({ ...nothing, ...row })));
  return (source, id) => known(source, id) ?? before(source, id);
}

async function companiesOf(db: Db, keys: readonly Key[]): Promise<Finder> {
  const rows = await bySource(keys, (source, ids) =>
    db
      .selectFrom('companies')
      .select(['source', 'id', 'name', 'currency'])
      .where('source', '=', source)
      .where('id', 'in', ids)
      .execute(),
  );
  return finderOf(
    rows.map(({ name, ...row }) => ({ ...nothing, ...row, company_id: row.id, company_name: name })),
  );
}

async function roundsOf(db: Db, keys: readonly Key[]): Promise<Finder> {
  const rows = await bySource(keys, (source, ids) =>
    db
      .selectFrom('rounds')
      .select(['source', 'id', 'name', 'currency', 'company_id', 'company_name'])
      .where('source', '=', source)
      .where('id', 'in', ids)
      .execute(),
  );
  return finderOf(
    rows.map(({ name, ...row }) => ({ ...nothing, ...row, offering_id: row.id, round_name: name })),
  );
}

async function postsOf(db: Db, keys: readonly Key[]): Promise<Finder> {
  const rows = await bySource(keys, (source, ids) =>
    db
      .selectFrom('company_updates')
      .select(['source', 'id', 'title', 'company_id', 'company_name'])
      .where('source', '=', source)
      .where('id', 'in', ids)
      .execute(),
  );
  return finderOf(rows.map((row) => ({ ...nothing, ...row })));
}

async function bySource<Row>(
  keys: readonly Key[],
  read: (source: string, ids: string[]) => Promise<Row[]>,
): Promise<Row[]> {
  const found: Row[] = [];
  for (const source of new Set(keys.map((key) => key.source))) {
    const ids = new Set(keys.filter((key) => key.source === source).map(({ id }) => id));
    found.push(...(await read(source, [...ids])));
  }
  return found;
}

function finderOf(rows: readonly (Subject & Key)[]): Finder {
  const keyed = (source: string, id: string) => JSON.stringify([source, id]);
  const found = new Map(rows.map(({ source, id, ...subject }) => [keyed(source, id), subject]));
  return (source, id) => (source === null || id === null ? undefined : found.get(keyed(source, id)));
}
