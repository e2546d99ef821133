import type { Kysely } from 'kysely';
import { Fault } from '../../domain/fault.js';
import type { Instant } from '../../domain/instant.js';
import { investmentColumns } from './columns.js';
import type { ReadDatabase } from './views.js';

/** Throws `usage` when versions of that time were purged: a partial result would look complete. */
export async function requireReach(db: Kysely<ReadDatabase>, at: Instant, source?: string): Promise<void> {
  let query = db.selectFrom('sources').select(['name', 'history_from']).where('history_from', '>', at);
  if (source !== undefined) query = query.where('name', '=', source);
  const row = await query.orderBy('history_from', 'desc').limit(1).executeTakeFirst();
  if (row === undefined) return;
  throw new Fault('usage', `the history of ${row.name} reaches back to ${row.history_from}, not to ${at}`, {
    hint: 'Ask for a later moment. history.keepDays says how long superseded versions are kept.',
  });
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
