import { type Instant, justBefore } from '../../../domain/instant.js';
import {
  countedBeforeDigest,
  quarantineMax,
  uncountedDigest,
  uncountedProblem,
} from '../../anomaly-limits.js';
import type { Rejected } from '../../page-facts.js';
import { cappedBody, digestOf } from '../../quarantine-body.js';
import type { SourceRow } from '../../source-row.js';
import { payloadOf, recordset } from './recordset.js';
import { statement, type Transaction } from './transaction.js';

const entries = recordset('$2', 'n int', 'id text', 'problem text', 'body text', 'digest text');

/** Three joins, each with an index: one join with OR would compare every entry with every row. */
const updateKnown = statement(
  'quarantine_again',
  `WITH t AS MATERIALIZED (SELECT * FROM ${entries}),
     q AS (SELECT * FROM quarantine_rows WHERE source_no = $1 AND resolved_at IS NULL),
     again AS (
       SELECT t.n, q.quarantine_no FROM t JOIN q ON q.id = t.id
       UNION ALL SELECT t.n, q.quarantine_no FROM t JOIN q ON q.digest = t.digest
       -- Stored by a version without digests.
       UNION ALL SELECT t.n, q.quarantine_no FROM t JOIN q ON q.body = t.body
         WHERE t.id IS NULL AND q.id IS NULL AND q.digest IS NULL
     )
   UPDATE quarantine_rows r SET problem = t.problem, digest = t.digest, seen_at = $3,
     body = CASE WHEN t.id IS NULL THEN r.body ELSE t.body END
   FROM again JOIN t ON t.n = again.n
   WHERE r.quarantine_no = again.quarantine_no
   RETURNING t.n`,
);

const open = statement(
  'quarantine_open',
  `INSERT INTO quarantine_rows (source_no, id, problem, body, digest, times, seen_at)
   SELECT $1, t.id, t.problem, t.body, t.digest, 1, $3 FROM ${entries} ORDER BY t.n`,
);

const countOverflow = statement(
  'quarantine_unkept',
  `WITH counted AS (
     UPDATE quarantine_rows SET times = times + $4, seen_at = $5
     WHERE source_no = $1 AND digest = $2 AND resolved_at IS NULL RETURNING 1
   )
   INSERT INTO quarantine_rows (source_no, problem, body, digest, times, seen_at)
   SELECT $1, $3, '', $2, $4, $5 WHERE NOT EXISTS (SELECT 1 FROM counted)`,
);

/**
 * Quarantines entries. Keeps at most one open row per id, or per content for entries without an id, so that reading an
 * entry again adds nothing. Beyond `quarantineMax`, entries are only counted, in one row. Returns the number of new
 * entries.
 */
export async function quarantineEntries(
  transaction: Transaction,
  source: Pick<SourceRow, 'no' | 'quarantined'>,
  rejected: readonly Rejected[],
  at: Instant,
): Promise<number> {
  if (rejected.length === 0) return 0;
  const sourceNo = source.no;
  const seen = new Set<string>();
  const rows = rejected.flatMap(({ id, problem, body: whole }, n) => {
    const body = cappedBody(whole);
    const digest = id === null ? digestOf(whole, problem) : null;
    const key = JSON.stringify([id, digest]);
    if (seen.has(key)) return [];
    seen.add(key);
    return [[n, id, problem, body, digest] as const];
  });
  const known = await transaction.rows<{ n: number }>(updateKnown, sourceNo, payloadOf(rows), at);
  const again = new Set(known.map(({ n }) => n));
  const fresh = rows.filter(([n]) => !again.has(n));
  const kept = fresh.slice(0, Math.max(0, quarantineMax - source.quarantined));
  const overflow = fresh.length - kept.length;
  if (kept.length > 0) transaction.send(open, sourceNo, payloadOf(kept), at);
  if (overflow > 0)
    transaction.send(countOverflow, sourceNo, uncountedDigest, uncountedProblem, overflow, at);
  return fresh.length;
}

const resolve = statement(
  'quarantine_resolve',
  `UPDATE quarantine_rows SET resolved_at = $1, body = NULL
   WHERE source_no = $2 AND id = ANY($3::text[]) AND resolved_at IS NULL`,
);

/**
 * Resolves entries for which a readable version or a tombstone arrived, and deletes their bodies, which may contain
 * names. Returns the number resolved.
 */
export async function resolveReadable(
  transaction: Transaction,
  sourceNo: number,
  ids: readonly string[],
  at: Instant,
): Promise<number> {
  return ids.length === 0 ? 0 : transaction.run(resolve, at, sourceNo, ids);
}

/**
 * Dates open entries before `at`, so that a listing starting at `at` counts them as older. Needed because commit times
 * do not advance after the clock was set back. The listing counts entries beyond the limit in another row.
 */
export function seenBefore(transaction: Transaction, sourceNo: number, at: Instant): void {
  transaction.send(
    'UPDATE quarantine_rows SET seen_at = $1 WHERE source_no = $2 AND seen_at >= $3 AND resolved_at IS NULL',
    ...[justBefore(at), sourceNo, at],
  );
  transaction.send(
    'UPDATE quarantine_rows SET digest = $1 WHERE source_no = $2 AND digest = $3 AND resolved_at IS NULL',
    ...[countedBeforeDigest, sourceNo, uncountedDigest],
  );
}

/** Returns whether an entry without a readable id was read since this time. */
export async function anyUnidentified(
  transaction: Transaction,
  sourceNo: number,
  since: string,
): Promise<boolean> {
  const rows = await transaction.rows(
    `SELECT 1 FROM quarantine_rows
     WHERE source_no = $1 AND id IS NULL AND seen_at >= $2 AND resolved_at IS NULL LIMIT 1`,
    ...[sourceNo, since],
  );
  return rows.length > 0;
}

/** Resolves entries last seen before the listing began. Returns the number of entries still open. */
export async function resolveBefore(
  transaction: Transaction,
  sourceNo: number,
  startedAt: string,
  at: Instant,
): Promise<number> {
  transaction.send(
    `UPDATE quarantine_rows SET resolved_at = $1, body = NULL
     WHERE source_no = $2 AND seen_at < $3 AND resolved_at IS NULL`,
    ...[at, sourceNo, startedAt],
  );
  const row = await transaction.row<{ open: number }>(
    'SELECT coalesce(sum(times), 0) AS open FROM quarantine_rows WHERE source_no = $1 AND resolved_at IS NULL',
    sourceNo,
  );
  return row?.open ?? 0;
}
