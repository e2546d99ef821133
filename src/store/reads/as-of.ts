import type { Kysely } from 'kysely';
import type { Instant } from '../../domain/instant.js';
import { investmentColumns } from './columns.js';
import type { ReadDatabase } from './views.js';

/**
 * What a reader of the mirror saw at `at`: current rows that already were, and superseded ones that still were.
 * The mirror's own commit times, not the platform's. Identity has no history, so there is none here.
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
