import type { Kysely } from 'kysely';
import type { ReadDatabase } from '../views.js';
import { namesOfInvestments } from './latest-changes.js';

/** Returns the latest ticks, deliveries, notices and erasures: ids and rosterd's own messages, no body and no name. */
export async function readActivity(db: Kysely<ReadDatabase>, rowsMax: number) {
  const deliveries = await latestDeliveries(db, rowsMax);
  const names = await namesOfInvestments(
    db,
    deliveries.flatMap(({ source, investment: id }) =>
      source === null || id === null ? [] : [{ source, id }],
    ),
  );
  return {
    deliveries: deliveries.map((one) => ({
      ...one,
      ...(names(one.source, one.investment) ?? { company_name: null, round_name: null }),
    })),
    ticks: await db.selectFrom('ticks').selectAll().orderBy('tick', 'desc').limit(rowsMax).execute(),
    quarantine: await db
      .selectFrom('quarantine')
      .select(['quarantine_no', 'source', 'id', 'problem', 'seen_at'])
      .where('resolved_at', 'is', null)
      .orderBy('quarantine_no', 'desc')
      .limit(rowsMax)
      .execute(),
    notices: await db
      .selectFrom('notices')
      .select([
        ...(['notice', 'source', 'seq', 'target', 'queued_at', 'state', 'attempts'] as const),
        ...(['next_at', 'delivered_at', 'last_error'] as const),
      ])
      .orderBy('notice', 'desc')
      .limit(rowsMax)
      .execute(),
    erasures: await db
      .selectFrom('erasures as e')
      .leftJoin('sources as s', 's.no', 'e.source_no')
      .select(['e.erasure', 's.name as source', 'e.id', 'e.cause', 'e.invisible_at', 'e.scrubbed_at'])
      .orderBy('e.erasure', 'desc')
      .limit(rowsMax)
      .execute(),
  };
}

const latestDeliveries = (db: Kysely<ReadDatabase>, rowsMax: number) =>
  db
    .selectFrom('webhook_inbox')
    .select([
      ...(['inbox_no', 'event_id', 'event', 'installation', 'source', 'investment', 'test'] as const),
      ...(['received_at', 'state', 'attempts', 'next_at', 'worked_at'] as const),
    ])
    .orderBy('inbox_no', 'desc')
    .limit(rowsMax)
    .execute();
