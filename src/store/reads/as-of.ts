import { type Kysely, sql } from 'kysely';
import type { Instant } from '../../domain/instant.js';
import { historyPurged, sourcesYoungerThan, type YoungerSource } from './as-of-reach.js';
import { investmentColumns } from './columns.js';
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

/**
 * Selects the versions that were current at `at`: current rows that existed then, and superseded ones not yet
 * superseded. Times are the mirror's commit times, not the platform's. Identity has no history and is not included.
 */
export function investmentsAsOf(db: Kysely<ReadDatabase>, at: Instant) {
  return db
    .selectFrom('investments')
    .select(investmentColumns)
    .where('valid_from', '<=', at)
    .unionAll(
      db
        .selectFrom('investment_history')
        .select(investmentColumns)
        .where('valid_from', '<=', at)
        .where('valid_to', '>', at),
    );
}

/** Like `investmentsAsOf`, with the identity that is stored now: identity has no history. */
export function rosterAsOf(db: Kysely<ReadDatabase>, at: Instant) {
  return sql<RosterView>`(
    SELECT t.*, p.name, p.legal_name, p.email, p.address_line, p.city, p.state, p.postal_code, p.country, p.bio,
           p.message, p.external_username, p.email_hidden, p.extra AS identity_extra
    FROM (${investmentsAsOf(db, at)}) t LEFT JOIN identities p ON p.source = t.source AND p.id = t.id
  )`;
}
