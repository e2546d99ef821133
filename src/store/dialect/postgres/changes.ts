import type { Instant } from '../../../domain/instant.js';
import type { CommittedChange } from '../../committed-change.js';
import { changeChannel } from './change-channel.js';
import { payloadOf, recordset } from './recordset.js';
import { statement, type Transaction } from './transaction.js';

const reserve = statement(
  'reserve_seq',
  `UPDATE feed_counter SET last_seq = last_seq + $1
   RETURNING last_seq - $1 AS before, pg_notify(${changeChannel}, '')`,
);

/**
 * Reserves the next `numbers` sequence numbers of the change feed and returns the last number before them. From here
 * until the commit, every other transaction that reserves numbers waits, so call it as late as possible. The commit
 * notifies the feed's listeners.
 */
export async function reserveNumbers(transaction: Transaction, numbers: number): Promise<number> {
  const row = await transaction.row<{ before: number }>(reserve, numbers);
  if (row === undefined) throw new Error('the row of feed_counter is missing');
  return row.before;
}

const announceAll = statement(
  'announce',
  `INSERT INTO change_rows (seq, source_no, id, kind, fields, reason, at)
   SELECT t.seq, $1, t.id, t.kind, t.fields, t.reason, $2
   FROM ${recordset('$3', 'seq bigint', 'id text', 'kind text', 'fields text', 'reason text')}`,
);

type Announced = Pick<CommittedChange, 'seq' | 'fields' | 'reason'> & {
  readonly id: string | null;
  readonly kind: CommittedChange['kind'] | 'snapshot';
};

export function announce(
  transaction: Transaction,
  sourceNo: number,
  at: Instant,
  changes: readonly Announced[],
): void {
  if (changes.length === 0) return;
  const rows = changes.map(({ seq, id, kind, fields, reason }) => [
    seq,
    id,
    kind,
    JSON.stringify(fields),
    reason,
  ]);
  transaction.send(announceAll, sourceNo, at, payloadOf(rows));
}
