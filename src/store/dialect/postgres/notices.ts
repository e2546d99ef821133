import type { Instant } from '../../../domain/instant.js';
import type { NoticeDraft, NoticeHooks } from '../../committed-change.js';
import { type LastNotice, spaced, spacedSince } from '../../notice-spacing.js';
import { type PayloadRow, payloadOf, recordset } from './recordset.js';
import { statement, type Transaction } from './transaction.js';

/** Locked until the commit: an attempt that begins meanwhile waits, and sends what the commit leaves. */
const lastNotices = statement(
  'last_notices',
  `SELECT w.n::int AS n, x.notice, x.body, x.state, x.attempts, x.next_at
   FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w(id, target, n)
   CROSS JOIN LATERAL (
     SELECT o.notice, o.body, o.state, o.attempts, o.next_at
     FROM change_rows c JOIN notice_rows o ON o.seq = c.seq
     WHERE c.id = w.id AND c.source_no = $3 AND o.target = w.target AND o.next_at > $4
     ORDER BY c.seq DESC LIMIT 1 FOR UPDATE OF o
   ) x`,
);

const insertNotices = statement(
  'insert_notices',
  `INSERT INTO notice_rows (source_no, seq, target, body, queued_at, next_at)
   SELECT $1, t.seq, t.target, t.body, $2, t.next_at
   FROM ${recordset('$3', 'n int', 'seq bigint', 'target text', 'body text', 'next_at text')} ORDER BY t.n`,
);

const foldNotices = statement(
  'fold_notices',
  `UPDATE notice_rows o SET seq = t.seq, body = t.body
   FROM ${recordset('$1', 'notice bigint', 'seq bigint', 'body text')} WHERE o.notice = t.notice`,
);

const deleteNotices = statement('delete_notices', 'DELETE FROM notice_rows WHERE notice = ANY($1::bigint[])');

/**
 * Queues many drafts at once, spaced as notice-spacing.ts defines. Drafts for the same record and target are queued one
 * after the other.
 */
export async function queueNotices(
  transaction: Transaction,
  sourceNo: number,
  at: Instant,
  drafts: readonly NoticeDraft[],
  hooks: Pick<NoticeHooks, 'fold'>,
): Promise<void> {
  for (const round of rounds(drafts)) await queueRound(transaction, sourceNo, at, round, hooks);
}

async function queueRound(
  transaction: Transaction,
  sourceNo: number,
  at: Instant,
  drafts: readonly NoticeDraft[],
  hooks: Pick<NoticeHooks, 'fold'>,
): Promise<void> {
  const ids = drafts.map(({ id }) => id);
  const targets = drafts.map(({ target }) => target);
  const found = await transaction.rows<LastNotice & { n: number }>(
    ...([lastNotices, ids, targets, sourceNo, spacedSince(at)] as const),
  );
  const last = new Map(found.map((row) => [row.n - 1, row]));
  const inserts: PayloadRow[] = [];
  const folds: PayloadRow[] = [];
  const deletes: number[] = [];
  for (const [n, { seq, target, body }] of drafts.entries()) {
    const step = spaced(last.get(n), at, body, hooks);
    if (step.kind === 'insert') inserts.push([n, seq, target, body, step.nextAt]);
    else if (step.kind === 'fold') folds.push([step.notice, seq, step.body]);
    else deletes.push(step.notice);
  }
  if (inserts.length > 0) transaction.send(insertNotices, sourceNo, at, payloadOf(inserts));
  if (folds.length > 0) transaction.send(foldNotices, payloadOf(folds));
  if (deletes.length > 0) transaction.send(deleteNotices, deletes);
}

function rounds(drafts: readonly NoticeDraft[]): readonly (readonly NoticeDraft[])[] {
  const result: NoticeDraft[][] = [];
  const times = new Map<string, number>();
  for (const draft of drafts) {
    const key = JSON.stringify([draft.id, draft.target]);
    const round = times.get(key) ?? 0;
    times.set(key, round + 1);
    const drafted = result[round] ?? [];
    drafted.push(draft);
    result[round] = drafted;
  }
  return result;
}
