import type { AliasedRawBuilder, Kysely } from 'kysely';
import type { Instant } from '../../domain/instant.js';
import { sql } from '../query-builder.js';
import { historyPurged, sourcesYoungerThan, type YoungerSource } from './as-of-reach.js';
import { columnsBeforeNames } from './columns.js';
import type { ReadDatabase, RosterView } from './views.js';

/** Throws `usage` when versions of that time were purged: a partial result would look complete. */
export async function requireReach(db: Kysely<ReadDatabase>, at: Instant, source?: string): Promise<void> {
  let query = db.selectFrom('sources').select(['name', 'history_from']).where('history_from', '>', at);
  if (source !== undefined) query = query.where('name', '=', source);
  const row = await query.orderBy('history_from', 'desc').limit(1).executeTakeFirst();
  if (row?.history_from == null) return;
  throw historyPurged(row.name, row.history_from, at);
}

/** Like `sourcesYoungerThan`, for the sources of the mirror, or for one of them. */
export async function youngerSources(
  db: Kysely<ReadDatabase>,
  at: Instant,
  source?: string,
): Promise<readonly YoungerSource[]> {
  const all = db.selectFrom('sources').select(['name', 'listed_at', 'history_from']);
  const rows = await (source === undefined ? all : all.where('name', '=', source)).execute();
  return sourcesYoungerThan(at, rows, source ?? 'this mirror');
}

const histories = {
  investments: 'investment_history',
  companies: 'company_history',
  rounds: 'round_history',
} as const;

type Versioned = keyof typeof histories;
type ColumnOf<View extends Versioned> = Exclude<
  keyof ReadDatabase[View] & string,
  'company_name' | 'round_name'
>;

/**
 * Returns a table with these columns of the versions that were current at `at`: current rows that existed then, and
 * superseded ones not yet superseded. Without `at`, it is the view. Times are the mirror's commit times, not the
 * platform's. The names of companies and rounds are versions of their own: see `namesOf`.
 */
export function versionsAt<View extends Versioned, Column extends ColumnOf<View>, Alias extends string>(
  view: View,
  columns: readonly Column[],
  at: Instant | undefined,
  alias: Alias,
): AliasedRawBuilder<Pick<ReadDatabase[View], Column>, Alias> {
  const listed = sql.join(columns.map((column) => sql.ref(column)));
  const rows =
    at === undefined
      ? sql.table(view)
      : sql`(
    SELECT ${listed} FROM ${sql.table(view)} WHERE valid_from <= ${at}
    UNION ALL
    SELECT ${listed} FROM ${sql.table(histories[view])} WHERE valid_from <= ${at} AND valid_to > ${at})`;
  return sql<Pick<ReadDatabase[View], Column>>`${rows}`.as<Alias>(sql.ref(alias));
}

type RosterRow = Omit<RosterView, 'company_name' | 'round_name'>;

/** The investments of `at`, without the names of companies and rounds. */
export const investmentsAsOf = <Alias extends string>(at: Instant, alias: Alias) =>
  versionsAt('investments', columnsBeforeNames, at, alias);

/** Like `investmentsAsOf`, with the identity that is stored now: identity has no history. */
export const rosterAsOf = <Alias extends string>(
  at: Instant,
  alias: Alias,
): AliasedRawBuilder<RosterRow, Alias> =>
  sql<RosterRow>`(
    SELECT t.*, p.name, p.legal_name, p.email, p.address_line, p.city, p.state, p.postal_code, p.country, p.bio,
           p.message, p.external_username, p.email_hidden, p.extra AS identity_extra
    FROM ${investmentsAsOf(at, 't')} LEFT JOIN identities p ON p.source = t.source AND p.id = t.id
  )`.as<Alias>(sql.ref(alias));
