import type Sqlite from 'better-sqlite3';
import type { Instant } from '../../../domain/instant.js';
import { type AsOfDialect, asOfViews, hasPast, presentOnly, type TotalsView } from '../../as-of-views.js';
import { moneyViewName, moneyViews } from '../../dictionary/typed-views.js';
import { type SourceReach, sourcesYoungerThan, type YoungerSource } from '../../reads/as-of-reach.js';
import { moneySelect } from './described-schema.js';

/**
 * Hides the public views behind temporary ones that show the mirror as it was at `at`, and those without a past behind
 * ones that do not compile. Returns the sources that the mirror did not have yet. Throws `usage` when the history does
 * not reach back to `at`. Begins a read transaction and leaves it open, so that no purge can happen in between.
 *
 * `stored` names the relations that they read. A temporary view belongs to this connection, which stays read-only for the
 * file. It can read no table that a statement could not name itself, and the check of masked names judges the compiled
 * program, with the views in it.
 */
export function readAsOf(
  raw: Sqlite.Database,
  at: Instant,
  stored = (relation: string): string => `main.${relation}`,
): readonly YoungerSource[] {
  raw.pragma('query_only = OFF');
  raw.exec('BEGIN');
  const sources = raw
    .prepare<[], SourceReach>('SELECT name, listed_at, history_from FROM main.sources')
    .all();
  const younger = sourcesYoungerThan(at, sources);
  const hide = (name: string, select: string) => raw.exec(`CREATE TEMP VIEW ${name} AS ${select}`);
  const refuse = (name: string) => hide(name, `SELECT * FROM temp."${presentOnlyMark}${name}"`);
  for (const { name, select } of asOfViews({ ...dialect, stored }, at)) hide(name, select);
  for (const name of presentOnly) refuse(name);
  for (const view of moneyViews)
    if (hasPast(view.name)) hide(moneyViewName(view.name), moneySelect(view, `temp.${view.name}`));
    else refuse(moneyViewName(view.name));
  raw.pragma('query_only = ON');
  return younger;
}

const presentOnlyMark = 'only the present: ';

/** Returns the relation that a statement named although it has no past, from SQLite's message; undefined for others. */
export function presentOnlyIn(message: string): string | undefined {
  return /^no such table: temp\.only the present: (\w+)$/.exec(message)?.[1];
}

const dialect: Omit<AsOfDialect, 'stored'> = {
  past: (relation) => `temp.${relation}`,
  textIn: (json, name) => `json_extract(${json}, '$.${name}')`,
  totals: (view, from) => totals[view](from),
};

/*
 * Amounts are added up in billions and the rest, because a sum beyond 64 bits is an error in SQLite. One that does not
 * fit is 9223372036854775807 or its negative, and exact_cents has the digits of all sums, as in the stored views.
 */
const billion = 1_000_000_000;

const parts = (column: string) =>
  `coalesce(sum(${column} / ${billion}), 0) + coalesce(sum(${column} % ${billion}), 0) / ${billion} AS ${column}_g,
   coalesce(sum(${column} % ${billion}), 0) % ${billion} AS ${column}_u`;

const fits = (column: string) => `${column}_g BETWEEN -9223372035 AND 9223372035`;

const sum = (column: string) =>
  `CASE WHEN ${fits(column)} THEN ${column}_g * ${billion} + ${column}_u
        WHEN ${column}_g > 0 THEN 9223372036854775807 ELSE -9223372036854775807 END AS ${column}`;

/** The two parts may have different signs; the digits need them to have one. */
const digits = (column: string) => {
  const [g, u] = [`${column}_g`, `${column}_u`];
  const borrowed = `((${g} > 0 AND ${u} < 0) - (${g} < 0 AND ${u} > 0))`;
  const [high, low] = [`(${g} - ${borrowed})`, `(${u} + ${billion} * ${borrowed})`];
  return `CASE WHEN ${high} < 0 OR ${low} < 0 THEN '-' ELSE '' END ||
    CASE ${high} WHEN 0 THEN abs(${low}) ELSE abs(${high}) || printf('%09d', abs(${low})) END`;
};

const exact = (columns: readonly string[]) =>
  `CASE WHEN ${columns.map(fits).join(' AND ')} THEN NULL
        ELSE '{' || ${columns.map((column) => `'"${column}":"' || ${digits(column)} || '"'`).join(" || ',' || ")} || '}'
   END AS exact_cents`;

const summed = (keys: string, columns: readonly string[], more: readonly string[], inner: string) =>
  `SELECT ${[keys, 'investments', ...columns.map(sum), ...more, exact(columns)].join(', ')} FROM (${inner})`;

const totals: Readonly<Record<TotalsView, (from: string) => string>> = {
  round_totals: (from) => {
    const keys = 'source, company_id, offering_id, status, currency';
    const columns = ['committed_cents', 'in_escrow_cents', 'raised_cents'];
    const inner = `SELECT ${keys}, count(*) AS investments, ${columns.map(parts).join(', ')} FROM ${from} GROUP BY ${keys}`;
    return summed(keys, columns, [], inner);
  },
  daily_raised: (from) => {
    const columns = ['committed_cents', 'raised_cents'];
    const inner = `SELECT source, company_id, substr(applied_at, 1, 10) AS day, currency, count(*) AS investments,
      ${columns.map(parts).join(', ')} FROM ${from} GROUP BY source, company_id, substr(applied_at, 1, 10), currency`;
    return summed('source, company_id, day, currency', columns, [], inner);
  },
  investor_totals: (from) => {
    const keys = 'source, investor_id, currency';
    const columns = ['committed_cents', 'raised_cents'];
    const times = ['first_applied_at', 'last_applied_at'];
    const inner = `SELECT ${keys}, count(*) AS investments, ${columns.map(parts).join(', ')},
      min(applied_at) AS first_applied_at, max(applied_at) AS last_applied_at
      FROM ${from} WHERE investor_id IS NOT NULL GROUP BY ${keys}`;
    return summed(keys, columns, times, inner);
  },
};
