import type { AliasedRawBuilder, Kysely, RawBuilder } from 'kysely';
import { PostgresAdapter, sql } from '../../query-builder.js';
import type { ReadDatabase } from '../views.js';

type Db = Kysely<ReadDatabase>;

/*
 * Small tables about all investments. On SQLite they come from the totals that are kept. PostgreSQL keeps none, and its views of
 * totals sort every investment by round, status and currency; what follows groups them by less and need not sort.
 */

/** The sums of each company in each currency, in whole cents. Floating-point sums are exact within 2^53, and never an error. */
export interface CompanySums {
  readonly source: string;
  readonly company_id: string | null;
  readonly currency: string | null;
  readonly investments: number;
  readonly committed_cents: number;
  readonly raised_cents: number;
}

export function companySums(db: Db): AliasedRawBuilder<CompanySums, 't'> {
  return isKept(db)
    ? sql<CompanySums>`(
        SELECT source, company_id, currency, sum(investments) AS investments,
               ${sumOf('committed_cents')} AS committed_cents, ${sumOf('raised_cents')} AS raised_cents
        FROM round_totals GROUP BY source, company_id, currency)`.as('t')
    : sql<CompanySums>`(
        SELECT s.name AS source, g.company_id, g.currency, g.investments, g.committed_cents, g.raised_cents
        FROM (SELECT source_no, company_id, currency, count(*) AS investments,
                     ${sumOf('committed_cents')} AS committed_cents, ${sumOf('raised_cents')} AS raised_cents
              FROM investment_rows GROUP BY source_no, company_id, currency) g
        JOIN sources s ON s.no = g.source_no WHERE s.listed_at IS NOT NULL)`.as('t');
}

export interface DaySums {
  readonly currency: string | null;
  readonly day: string | null;
  readonly investments: number;
  readonly committed_cents: number | null;
  readonly raised_cents: number | null;
}

/** What was applied for on the days from `from` to `to`, a row for each day and currency of a source, or for each investment. */
export function appliedBetween(db: Db, from: string, to: string): AliasedRawBuilder<DaySums, 't'> {
  // The day as an expression that no index serves. With the column itself, SQLite looks the days up in the totals of every
  // source, once for each source.
  return isKept(db)
    ? sql<DaySums>`(
        SELECT currency, day, investments, committed_cents, raised_cents
        FROM daily_raised WHERE (day || '') >= ${from} AND (day || '') <= ${to})`.as('t')
    : sql<DaySums>`(
        SELECT r.currency, substr(r.applied_at, 1, 10) AS day, 1 AS investments, r.committed_cents, r.raised_cents
        FROM investment_rows r JOIN sources s ON s.no = r.source_no
        WHERE s.listed_at IS NOT NULL AND r.applied_at >= ${from} AND r.applied_at < ${dayAfter(to)})`.as(
        't',
      );
}

export interface Grouped {
  readonly source: string;
  readonly company_id: string | null;
  readonly offering_id: string | null;
  readonly status: string;
}

/** Each company and round with its statuses. */
export function roundsWithStatus(db: Db): AliasedRawBuilder<Grouped, 'r'> {
  return isKept(db)
    ? sql<Grouped>`round_totals`.as(sql.ref('r'))
    : sql<Grouped>`(
        SELECT s.name AS source, g.company_id, g.offering_id, g.status
        FROM (SELECT DISTINCT source_no, company_id, offering_id, status FROM investment_rows) g
        JOIN sources s ON s.no = g.source_no WHERE s.listed_at IS NOT NULL)`.as(sql.ref('r'));
}

const isKept = (db: Db): boolean => !(db.getExecutor().adapter instanceof PostgresAdapter);

const sumOf = (cents: string): RawBuilder<number> =>
  sql`coalesce(sum(CAST(${sql.ref(cents)} AS double precision)), 0)`;

const dayAfter = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00.000Z`) + 86_400_000).toISOString().slice(0, 10);
