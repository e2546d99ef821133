import { type Instant, justBefore } from '../../../domain/instant.js';
import type { Rejected } from '../../page-oddities.js';
import { cappedBody } from '../../quarantine-body.js';
import { payloadOf, recordset } from './recordset.js';
import { statement, type Transaction } from './transaction.js';

const entries = recordset('$2', 'n int', 'id text', 'problem text', 'body text');

const reseen = statement(
  'quarantine_again',
  `UPDATE quarantine_rows q SET problem = t.problem, body = t.body, seen_at = $3
   FROM ${entries}
   WHERE q.source_no = $1 AND q.resolved_at IS NULL
     AND (q.id = t.id OR (t.id IS NULL AND q.id IS NULL AND q.problem = t.problem AND q.body = t.body))
   RETURNING t.n`,
);

const open = statement(
  'quarantine_open',
  `INSERT INTO quarantine_rows (source_no, id, problem, body, seen_at)
   SELECT $1, t.id, t.problem, t.body, $3 FROM ${entries} ORDER BY t.n`,
);

/**
 * At most one open row for an id, and for an entry without one at most one for the same body, so that a page
 * that is read again adds nothing. Answers how many rows were opened.
 */
export async function setAside(
  transaction: Transaction,
  sourceNo: number,
  rejected: readonly Rejected[],
  at: Instant,
): Promise<number> {
  if (rejected.length === 0) return 0;
  const seen = new Set<string>();
  const rows = rejected.flatMap(({ id, problem, body: whole }, n) => {
    const body = cappedBody(whole);
    const key = JSON.stringify([id, id === null ? [problem, body] : null]);
    if (seen.has(key)) return [];
    seen.add(key);
    return [[n, id, problem, body] as const];
  });
  const known = await transaction.rows<{ n: number }>(reseen, sourceNo, payloadOf(rows), at);
  const again = new Set(known.map(({ n }) => n));
  const fresh = rows.filter(([n]) => !again.has(n));
  if (fresh.length > 0) transaction.send(open, sourceNo, payloadOf(fresh), at);
  return fresh.length;
}

const resolve = statement(
  'quarantine_resolve',
  `UPDATE quarantine_rows SET resolved_at = $1, body = NULL
   WHERE source_no = $2 AND id = ANY($3::text[]) AND resolved_at IS NULL`,
);

/** A version we can read, or a tombstone, ends the case and takes the body, which may hold names, with it. */
export async function resolveReadable(
  transaction: Transaction,
  sourceNo: number,
  ids: readonly string[],
  at: Instant,
): Promise<number> {
  return ids.length === 0 ? 0 : transaction.run(resolve, at, sourceNo, ids);
}

/** Times of commits stand still while a clock that was ahead is waited for. */
export function seenBefore(transaction: Transaction, sourceNo: number, at: Instant): void {
  transaction.send(
    'UPDATE quarantine_rows SET seen_at = $1 WHERE source_no = $2 AND seen_at >= $3 AND resolved_at IS NULL',
    ...[justBefore(at), sourceNo, at],
  );
}

/** Whoever was set aside before a listing began was not among what it named. */
export function resolveBefore(
  transaction: Transaction,
  sourceNo: number,
  startedAt: string,
  at: Instant,
): Promise<number> {
  return transaction.run(
    `UPDATE quarantine_rows SET resolved_at = $1, body = NULL
     WHERE source_no = $2 AND seen_at < $3 AND resolved_at IS NULL`,
    ...[at, sourceNo, startedAt],
  );
}
