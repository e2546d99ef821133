import type { Kysely } from 'kysely';
import type { ChangedValues, ChangeSeen } from '../../../console/ports/overview.js';
import type { Instant } from '../../../domain/instant.js';
import { versionsAt } from '../as-of.js';
import { type Belonging, namesOf } from '../names.js';
import type { ReadDatabase } from '../views.js';

/*
 * The newest changes, with what their investments, companies and rounds are called: now, or at the time up to which they
 * are read. A deleted investment belongs to the company and round of its last version.
 */

type Db = Kysely<ReadDatabase>;

interface Key {
  readonly source: string;
  readonly id: string;
}

/** What a change is about. */
type Subject = Pick<ChangeSeen, 'company_id' | 'offering_id' | 'currency' | 'title'>;

const nothing: Subject = { company_id: null, offering_id: null, currency: null, title: null };

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
    investment: await ofInvestments(db, about('investment'), at),
    company: await ofCompanies(db, about('company'), at),
    round: await ofRounds(db, about('round'), at),
    update: await ofPosts(db, about('update'), at),
  };
  const seen = changes.map((change) => {
    const own = lastKnown(change);
    const found = finders[aboutOf(change.kind)]?.(change.source, change.id) ?? own;
    return { change, own, subject: { ...found, title: found.title ?? own.title } };
  });
  const of = seen.flatMap(({ change, subject }) => [
    { source: change.source, ...subject },
    ...namedIn(change),
  ]);
  const names = await namesOf(db, { at, of });
  return seen.map(({ change, own, subject }) => ({
    ...{ ...change, ...subject },
    names: Object.fromEntries(
      namedIn(change).flatMap(({ source, company_id, offering_id }) => {
        const name = names.company(source, company_id) ?? names.round(source, offering_id);
        const id = company_id ?? offering_id;
        return id === null || name === null ? [] : [[id, name]];
      }),
    ),
    company_name: names.company(change.source, subject.company_id) ?? own.company_name,
    round_name: names.round(change.source, subject.offering_id) ?? own.round_name,
  }));
}

type Finder = (source: string | null, id: string | null) => Subject | undefined;

type Named = Pick<ChangeSeen, 'company_name' | 'round_name'>;

/** `company_added` is about a company, `added` about an investment. */
const aboutOf = (kind: string): string => /^(company|round|update)_/.exec(kind)?.[1] ?? 'investment';

/** Unknown fields may be personal, so they are left out. */
function valuesIn(text: string | null): ChangedValues | null {
  if (text === null) return null;
  const { extra: _, ...values } = JSON.parse(text) as Record<string, unknown>;
  return values;
}

/** Returns the companies and rounds that the values of a change name, each by itself. */
function namedIn({
  source,
  before,
  after,
}: Pick<ChangeSeen, 'source' | 'before' | 'after'>): Required<Belonging>[] {
  const found: Required<Belonging>[] = [];
  for (const [column, id] of [before, after].flatMap((values) => Object.entries(values ?? {}))) {
    if (typeof id !== 'string') continue;
    if (column === 'company_id') found.push({ source, company_id: id, offering_id: null });
    if (roundColumns.has(column)) found.push({ source, company_id: null, offering_id: id });
  }
  return found;
}

const roundColumns: ReadonlySet<string> = new Set(['offering_id', 'current_round_id']);

/** A deleted company or round has the names of its last values. */
function lastKnown({
  kind,
  id,
  before,
  after,
}: Pick<ChangeSeen, 'kind' | 'id' | 'before' | 'after'>): Subject & Named {
  const last = (column: string): string | null => {
    const value = after?.[column] ?? before?.[column];
    return typeof value === 'string' ? value : null;
  };
  const about = aboutOf(kind);
  return {
    company_id: about === 'company' ? id : last('company_id'),
    company_name: about === 'company' ? last('name') : null,
    offering_id: about === 'round' ? id : last('offering_id'),
    round_name: about === 'round' ? last('name') : null,
    currency: last('currency'),
    title: last('title'),
  };
}

/** Returns a function that finds the names of the company and round of an investment, also of a deleted one. */
export async function namesOfInvestments(
  db: Db,
  keys: readonly Key[],
): Promise<(source: string | null, id: string | null) => Named | undefined> {
  const find = await ofInvestments(db, keys);
  const of = keys.flatMap(({ source, id }) => {
    const subject = find(source, id);
    return subject === undefined ? [] : [{ source, ...subject }];
  });
  const names = await namesOf(db, { of });
  return (source, id) => {
    const subject = find(source, id);
    if (source === null || subject === undefined) return undefined;
    return {
      company_name: names.company(source, subject.company_id),
      round_name: names.round(source, subject.offering_id),
    };
  };
}

async function ofInvestments(db: Db, keys: readonly Key[], at?: Instant): Promise<Finder> {
  const columns = ['source', 'id', 'company_id', 'offering_id', 'currency'] as const;
  const current = await bySource(keys, (source, ids) =>
    db
      .selectFrom(versionsAt('investments', columns, at, 'i'))
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
      .$if(at !== undefined, (query) => query.where('valid_to', '<=', at ?? ''))
      .orderBy('valid_to')
      .execute(),
  );
  const before = finderOf(past.map((row) => ({ ...nothing, ...row })));
  return (source, id) => known(source, id) ?? before(source, id);
}

async function ofCompanies(db: Db, keys: readonly Key[], at?: Instant): Promise<Finder> {
  const columns = ['source', 'id', 'currency'] as const;
  const rows = await bySource(keys, (source, ids) =>
    db
      .selectFrom(versionsAt('companies', columns, at, 'c'))
      .select(columns)
      .where('source', '=', source)
      .where('id', 'in', ids)
      .execute(),
  );
  return finderOf(rows.map((row) => ({ ...nothing, ...row, company_id: row.id })));
}

async function ofRounds(db: Db, keys: readonly Key[], at?: Instant): Promise<Finder> {
  const columns = ['source', 'id', 'currency', 'company_id'] as const;
  const rows = await bySource(keys, (source, ids) =>
    db
      .selectFrom(versionsAt('rounds', columns, at, 'o'))
      .select(columns)
      .where('source', '=', source)
      .where('id', 'in', ids)
      .execute(),
  );
  return finderOf(rows.map((row) => ({ ...nothing, ...row, offering_id: row.id })));
}

/** Posts have no past: the title of one that changed after `at` is not known. */
async function ofPosts(db: Db, keys: readonly Key[], at?: Instant): Promise<Finder> {
  const rows = await bySource(keys, (source, ids) =>
    db
      .selectFrom('company_updates')
      .select(['source', 'id', 'title', 'company_id', 'valid_from'])
      .where('source', '=', source)
      .where('id', 'in', ids)
      .execute(),
  );
  return finderOf(
    rows.map(({ valid_from, title, ...row }) => ({
      ...{ ...nothing, ...row },
      title: at === undefined || valid_from <= at ? title : null,
    })),
  );
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
