import type { Instant } from '../domain/instant.js';
import { publicRelations } from './dictionary/relations.js';

/*
 * The public views as they stood at a past time, as definitions of views that hide the stored ones: a statement names
 * `investments` and reads the versions of then. Times are the mirror's commit times.
 */

/** How one database names relations and adds up amounts. */
export interface AsOfDialect {
  /** Names a stored relation, with its schema. */
  readonly stored: (relation: string) => string;
  /** Names a view of this module. */
  readonly past: (relation: string) => string;
  /** Returns the text that a JSON object has under a name, or null. */
  readonly textIn: (json: string, name: string) => string;
  /** Returns the SELECT of a view of totals over the investments of `from`. */
  readonly totals: (view: TotalsView, from: string) => string;
}

const totalsViews = ['round_totals', 'daily_raised', 'investor_totals'] as const;
export type TotalsView = (typeof totalsViews)[number];

export interface AsOfView {
  readonly name: string;
  readonly select: string;
}

type Past = (dialect: AsOfDialect, at: string) => string;

const columnsOf = (name: string): readonly string[] =>
  publicRelations.find((relation) => relation.name === name)?.columns.map((column) => column.name) ?? [];

const listed = (names: readonly string[], of?: string): string =>
  names.map((name) => (of === undefined ? name : `${of}.${name}`)).join(', ');

const versionsAt = (relation: string, history: string, columns: string): Past => {
  return ({ stored }, at) => `SELECT ${columns} FROM ${stored(relation)} WHERE valid_from <= ${at}
    UNION ALL
    SELECT ${columns} FROM ${stored(history)} WHERE valid_from <= ${at} AND valid_to > ${at}`;
};

const nameColumns = ['company_name', 'round_name'];
const withoutNames = (relation: string): readonly string[] =>
  columnsOf(relation).filter((name) => !nameColumns.includes(name));

/** Adds what companies and rounds were called then, as the last columns. */
const named = ({ past }: AsOfDialect, relation: string, rows: string): string => {
  const lookups: Readonly<Record<string, string>> = {
    company_name: `(SELECT c.name FROM ${past('companies')} c WHERE c.source = t.source AND c.id = t.company_id)`,
    round_name: `(SELECT o.name FROM ${past('rounds')} o WHERE o.source = t.source AND o.id = t.offering_id)`,
  };
  const names = columnsOf(relation).filter((name) => nameColumns.includes(name));
  const added = names.map((name) => `, ${lookups[name]} AS ${name}`);
  return `SELECT ${listed(withoutNames(relation), 't')}${added.join('')} FROM (${rows}) t`;
};

const companies: Past = versionsAt('companies', 'company_history', listed(columnsOf('companies')));

const rounds: Past = (dialect, at) =>
  named(
    dialect,
    'rounds',
    versionsAt('rounds', 'round_history', listed(withoutNames('rounds')))(dialect, at),
  );

const investments: Past = (dialect, at) => {
  const columns = listed(withoutNames('investments'));
  return named(dialect, 'investments', versionsAt('investments', 'investment_history', columns)(dialect, at));
};

const roster: Past = ({ past, stored }) => {
  const ofRecord = new Set(columnsOf('investments'));
  const columns = columnsOf('roster').map((name) => {
    if (ofRecord.has(name)) return `t.${name}`;
    return name === 'identity_extra' ? 'p.extra AS identity_extra' : `p.${name}`;
  });
  return `SELECT ${columns.join(', ')}
    FROM ${past('investments')} t
    LEFT JOIN ${stored('identities')} p ON p.source = t.source AND p.id = t.id`;
};

const identities: Past = ({ past, stored }) =>
  `SELECT ${listed(columnsOf('identities'), 'p')} FROM ${stored('identities')} p
    WHERE EXISTS (SELECT 1 FROM ${past('investments')} t WHERE t.source = p.source AND t.id = p.id)`;

const until =
  (relation: string, time: string): Past =>
  (dialect, at) =>
    named(
      dialect,
      relation,
      `SELECT ${listed(withoutNames(relation))} FROM ${dialect.stored(relation)} WHERE ${time} <= ${at}`,
    );

/**
 * The names of a change are those that it had then: of the version that was the last one to begin by that time, also when
 * the record was gone already.
 */
const changes: Past = ({ past, stored, textIn }, at) => {
  const lastVersion = (relation: string, history: string, column: string) => {
    const current = `FROM ${stored(relation)} v WHERE v.source = t.source AND v.id = t.id AND v.valid_from <= ${at}`;
    return `coalesce((SELECT v.${column} ${current}),
      (SELECT h.${column} FROM ${stored(history)} h
       WHERE h.source = t.source AND h.id = t.id AND h.valid_from <= ${at} AND NOT EXISTS (SELECT 1 ${current})
       ORDER BY h.valid_from DESC, h.change_seq DESC, h.valid_to DESC LIMIT 1))`;
  };
  const about = (kind: string) => `substr(t.kind, 1, ${kind.length + 1}) = '${kind}_'`;
  const isOther = `t.kind IN ('added', 'changed', 'removed')`;
  const named = (relation: 'companies' | 'rounds', id: string) =>
    `(SELECT n.name FROM ${past(relation)} n WHERE n.source = t.source AND n.id = ${id})`;
  const post = `coalesce((SELECT u.company_id FROM ${stored('company_updates')} u WHERE u.source = t.source AND u.id = t.id),
    ${textIn('coalesce(t.after, t.before)', 'company_id')})`;
  return `SELECT ${listed(withoutNames('changes'), 't')},
    CASE WHEN ${about('company')} THEN ${lastVersion('companies', 'company_history', 'name')}
      WHEN ${about('round')} THEN ${named('companies', lastVersion('rounds', 'round_history', 'company_id'))}
      WHEN ${about('update')} THEN ${named('companies', post)}
      WHEN ${isOther} THEN ${named('companies', lastVersion('investments', 'investment_history', 'company_id'))}
    END AS company_name,
    CASE WHEN ${about('round')} THEN ${lastVersion('rounds', 'round_history', 'name')}
      WHEN ${isOther} THEN ${named('rounds', lastVersion('investments', 'investment_history', 'offering_id'))}
    END AS round_name
    FROM ${stored('changes')} t WHERE t.at <= ${at}`;
};

const totals =
  (view: TotalsView): Past =>
  (dialect) =>
    named(dialect, view, dialect.totals(view, dialect.past('investments')));

/**
 * The views with a past, in an order in which each can be created. Identity has none: `identities` and `roster` have
 * the identity that is stored now, for the investments of then.
 */
const dated: Readonly<Record<string, Past>> = {
  companies,
  rounds,
  company_history: until('company_history', 'valid_to'),
  round_history: until('round_history', 'valid_to'),
  investments,
  identities,
  roster,
  investment_history: until('investment_history', 'valid_to'),
  changes,
  round_totals: totals('round_totals'),
  daily_raised: totals('daily_raised'),
  investor_totals: totals('investor_totals'),
};

export const hasPast = (relation: string): boolean => relation in dated;

/** Describes the columns of this version, whatever the time. */
const timeless = new Set(['data_dictionary']);

/** Public relations that show only the present. A query as of a past time cannot read them by their plain name. */
export const presentOnly: readonly string[] = publicRelations
  .map(({ name }) => name)
  .filter((name) => !hasPast(name) && !timeless.has(name));

/** Returns the views with a past at `at`, in the order in which they have to be created. */
export function asOfViews(dialect: AsOfDialect, at: Instant): readonly AsOfView[] {
  const quoted = `'${requireInstant(at)}'`;
  return Object.entries(dated).map(([name, past]) => ({ name, select: past(dialect, quoted) }));
}

/** The time becomes part of a statement, so its shape is checked here again. */
function requireInstant(at: Instant): string {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(at)) throw new Error('not an instant');
  return at;
}
