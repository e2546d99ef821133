import type { StagePlan } from '../../listing-lifecycle.js';
import { recordColumns, recordValues } from '../../record-columns.js';
import { payloadOf, recordset, recordTypes, storableJson } from './recordset.js';
import { statement, type Transaction } from './transaction.js';

/* A re-listing stages the records that differ from live rows, and for each page the numbers of the live rows it named. */

const record = recordColumns.join(', ');

const stage = statement(
  'stage_rows',
  `INSERT INTO staged_rows (source_no, id, row_no, identity, ${record})
   SELECT $1, t.id, t.row_no, t.identity, ${recordColumns.map((column) => `t.${column}`).join(', ')}
   FROM ${recordset('$2', 'n int', 'id text', 'row_no bigint', 'identity text', ...recordTypes)} ORDER BY t.n
   ON CONFLICT (source_no, id) DO UPDATE
   SET row_no = excluded.row_no, identity = excluded.identity,
       ${recordColumns.map((column) => `${column} = excluded.${column}`).join(', ')}`,
);

export function stageRows(
  transaction: Transaction,
  sourceNo: number,
  staged: StagePlan<{ readonly rowNo: number }>['stage'],
): void {
  if (staged.length === 0) return;
  const rows = staged.map(({ record: { investment, identity }, stored }, n) => [
    ...[n, investment.id, stored?.rowNo ?? null, identity === null ? null : storableJson(identity)],
    ...recordValues(investment),
  ]);
  transaction.send(stage, sourceNo, payloadOf(rows));
}

const take = statement('unstage', 'DELETE FROM staged_rows WHERE source_no = $1 AND id = ANY($2::text[])');

export function unstage(transaction: Transaction, sourceNo: number, ids: readonly string[]): void {
  transaction.send(take, sourceNo, ids);
}

const remember = statement(
  'remember_seen',
  `INSERT INTO staged_pages (source_no, page, seen) VALUES ($1, $2, $3::bigint[])
   ON CONFLICT (source_no, page) DO UPDATE SET seen = excluded.seen`,
);

export function rememberSeen(
  transaction: Transaction,
  sourceNo: number,
  page: number,
  seen: readonly number[],
): void {
  transaction.send(remember, sourceNo, page, seen);
}

const forget = statement(
  'forget_seen',
  `UPDATE staged_pages SET seen = ARRAY(SELECT unnest(seen) EXCEPT SELECT unnest($2::bigint[]))
   WHERE source_no = $1 AND seen && $2::bigint[]`,
);

export function forgetSeen(transaction: Transaction, sourceNo: number, rowNos: readonly number[]): void {
  transaction.send(forget, sourceNo, rowNos);
}

/** Selects live rows that no page named. A row that a page named but that was deleted since does not count. */
export const unseen = `
  FROM investment_rows r
  WHERE r.source_no = $1 AND NOT EXISTS (
    SELECT 1 FROM (SELECT unnest(p.seen) AS row_no FROM staged_pages p WHERE p.source_no = $1) s
    WHERE s.row_no = r.row_no)`;

export async function countUnseen(transaction: Transaction, sourceNo: number): Promise<number> {
  const row = await transaction.row<{ rows: number }>(`SELECT count(*) AS rows ${unseen}`, sourceNo);
  return row?.rows ?? 0;
}

export function discardStage(transaction: Transaction, sourceNo: number): void {
  transaction.send('DELETE FROM staged_rows WHERE source_no = $1', sourceNo);
  transaction.send('DELETE FROM staged_pages WHERE source_no = $1', sourceNo);
}

/**
 * Marks the rows that no page named with this generation, and removes all other marks. Returns the number of marked rows.
 * Rows marked before keep their `missing_since`.
 */
export async function markUnseen(
  transaction: Transaction,
  sourceNo: number,
  generation: number,
  at: string,
): Promise<number> {
  const marked = await transaction.run(
    `INSERT INTO awaiting_deletion_rows (row_no, source_no, generation, missing_since)
     SELECT r.row_no, r.source_no, $2, $3 ${unseen}
     ON CONFLICT (row_no) DO UPDATE SET generation = excluded.generation`,
    ...[sourceNo, generation, at],
  );
  transaction.send(
    'DELETE FROM awaiting_deletion_rows WHERE source_no = $1 AND generation <> $2',
    ...[sourceNo, generation],
  );
  return marked;
}

/** Removes the marks of these records. Returns how many had one. */
export function unmarkNamed(
  transaction: Transaction,
  sourceNo: number,
  ids: readonly string[],
): Promise<number> {
  return transaction.run(
    `DELETE FROM awaiting_deletion_rows a USING investment_rows r
     WHERE r.row_no = a.row_no AND r.source_no = $1 AND r.id = ANY($2::text[])`,
    ...[sourceNo, ids],
  );
}

export function unmarkAll(transaction: Transaction, sourceNo: number): void {
  transaction.send('DELETE FROM awaiting_deletion_rows WHERE source_no = $1', sourceNo);
}
