import type { Instant } from '../../../domain/instant.js';
import type { Identity } from '../../../domain/investment.js';
import type { RecordItem } from '../../page-facts.js';
import {
  identityColumns,
  identityValues,
  ofPerson,
  recordColumns,
  recordValues,
} from '../../record-columns.js';
import type { EndedBy } from '../../schema-columns.js';
import { cells, payloadOf, personTypes, recordset, recordTypes } from './recordset.js';
import { statement, type Transaction } from './transaction.js';

const record = recordColumns.join(', ');
const identity = identityColumns.join(', ');
const fromRecord = recordColumns.map((column) => `t.${column}`).join(', ');
const fromPerson = identityColumns.map((column) => `t.${ofPerson(column)}`).join(', ');

const fresh = ['id text', 'seq bigint', ...recordTypes, 'person boolean', ...personTypes];

/**
 * Columns are extracted from the JSON where they are written. The materialized page keeps the JSON itself, because
 * materializing all of its columns would make the statement noticeably slower.
 */
const insert = statement(
  'insert_rows',
  `WITH page AS MATERIALIZED (
     SELECT v, v->>0 AS id FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY AS e(v, n) ORDER BY n
   ), added AS (
     INSERT INTO investment_rows (source_no, id, valid_from, change_seq, ${record})
     SELECT $1, t.id, $2, t.seq, ${fromRecord} FROM page CROSS JOIN LATERAL (SELECT ${cells('page.v', fresh)}) AS t
     ON CONFLICT DO NOTHING RETURNING row_no, id
   ), people AS (
     INSERT INTO identity_rows (row_no, ${identity})
     SELECT a.row_no, ${fromPerson}
     FROM added a JOIN page ON page.id = a.id CROSS JOIN LATERAL (SELECT ${cells('page.v', fresh)}) AS t
     WHERE t.person
   )
   SELECT p.id FROM page p WHERE NOT EXISTS (SELECT 1 FROM added a WHERE a.id = p.id)`,
);

/**
 * Like `insert_rows` but without the check for stored ids, which would cost time for nothing: before ids are indexed no
 * row can conflict. It returns no rows, so the caller need not wait for it.
 */
const append = statement(
  'append_rows',
  `WITH page AS MATERIALIZED (
     SELECT nextval('investment_rows_row_no_seq') AS row_no, v FROM jsonb_array_elements($2::jsonb) AS e(v)
   ), people AS (
     INSERT INTO identity_rows (row_no, ${identity})
     SELECT t.row_no, ${fromPerson} FROM (SELECT row_no, ${cells('page.v', fresh)} FROM page) AS t WHERE t.person
   )
   INSERT INTO investment_rows (row_no, source_no, id, ${record})
   SELECT t.row_no, $1, t.id, ${fromRecord} FROM (SELECT row_no, ${cells('page.v', fresh)} FROM page) AS t`,
);

export interface NewRow {
  readonly record: RecordItem;
  /** Null during a first listing: its rows share the change number in the source row. */
  readonly seq: number | null;
}

/** Inserts rows and their identities in one statement. Returns the ids that already had a row; those stay unchanged. */
export async function insertRows(
  transaction: Transaction,
  sourceNo: number,
  validFrom: Instant | null,
  rows: readonly NewRow[],
): Promise<readonly string[]> {
  if (rows.length === 0) return [];
  const existing = await transaction.rows<{ id: string }>(insert, sourceNo, validFrom, freshPayload(rows));
  return existing.map(({ id }) => id);
}

/** Inserts rows of a first listing while ids are not indexed. */
export function appendRows(transaction: Transaction, sourceNo: number, records: readonly RecordItem[]): void {
  if (records.length === 0) return;
  transaction.send(append, sourceNo, freshPayload(records.map((record) => ({ record, seq: null }))));
}

function freshPayload(rows: readonly NewRow[]): string {
  return payloadOf(
    rows.map(({ record: { investment, identity: person }, seq }) => {
      const row = [investment.id, seq, ...recordValues(investment)];
      return person === null ? row : [...row, true, ...identityValues(person)];
    }),
  );
}

const replaceListed = statement(
  'replace_listed',
  `UPDATE investment_rows r SET ${recordColumns.map((column) => `${column} = t.${column}`).join(', ')}
   FROM ${recordset('$2', 'id text', ...recordTypes)}
   WHERE r.source_no = $1 AND r.id = t.id RETURNING r.row_no, r.id`,
);

/** Replaces rows and identities of ids that the same listing named before: the later entry counts. */
export async function replaceListedRows(
  transaction: Transaction,
  sourceNo: number,
  records: readonly RecordItem[],
): Promise<void> {
  const payload = payloadOf(records.map(({ investment }) => [investment.id, ...recordValues(investment)]));
  const rows = await transaction.rows<{ row_no: number; id: string }>(replaceListed, sourceNo, payload);
  if (rows.length !== records.length) throw new Error('a listed record was neither inserted nor found');
  const rowOf = new Map(rows.map(({ row_no, id }) => [id, row_no]));
  replacePeople(
    transaction,
    records.map(({ investment, identity: person }) => ({ rowNo: rowOf.get(investment.id) ?? 0, person })),
  );
}

const archive = statement(
  'archive_rows',
  `INSERT INTO history_rows (source_no, id, ${record}, valid_from, change_seq, valid_to, ended_by)
   SELECT r.source_no, r.id, ${recordColumns.map((column) => `r.${column}`).join(', ')},
          coalesce(r.valid_from, s.listed_at), coalesce(r.change_seq, s.listed_seq), $1, w.ended_by
   FROM unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS w(row_no, ended_by, n)
   JOIN investment_rows r ON r.row_no = w.row_no JOIN sources s ON s.no = r.source_no ORDER BY w.n`,
);

export function archiveRows(
  transaction: Transaction,
  at: Instant,
  ended: readonly { readonly rowNo: number; readonly by: EndedBy }[],
): void {
  if (ended.length === 0) return;
  transaction.send(archive, at, ...[ended.map(({ rowNo }) => rowNo), ended.map(({ by }) => by)]);
}

const update = statement(
  'update_rows',
  `UPDATE investment_rows r SET valid_from = $1, change_seq = coalesce(t.seq, r.change_seq),
          ${recordColumns.map((column) => `${column} = t.${column}`).join(', ')}
   FROM ${recordset('$2', 'row_no bigint', 'seq bigint', ...recordTypes)} WHERE r.row_no = t.row_no`,
);

export interface ReplacedRow extends NewRow {
  readonly rowNo: number;
}

export function updateRows(transaction: Transaction, at: Instant, rows: readonly ReplacedRow[]): void {
  if (rows.length === 0) return;
  const payload = rows.map(({ rowNo, seq, record: { investment } }) => [
    ...[rowNo, seq],
    ...recordValues(investment),
  ]);
  transaction.send(update, at, payloadOf(payload));
}

const deletePeople = statement('delete_people', 'DELETE FROM identity_rows WHERE row_no = ANY($1::bigint[])');
const insertPeople = statement(
  'insert_people',
  `INSERT INTO identity_rows (row_no, ${identity})
   SELECT t.row_no, ${identityColumns.map((column) => `t.${ofPerson(column)}`).join(', ')}
   FROM ${recordset('$1', 'row_no bigint', ...personTypes)}`,
);

/** Replaces identities, never merges them: a field missing from the new identity is deleted. */
export function replacePeople(
  transaction: Transaction,
  people: readonly { readonly rowNo: number; readonly person: Identity | null }[],
): void {
  if (people.length === 0) return;
  transaction.send(
    deletePeople,
    people.map(({ rowNo }) => rowNo),
  );
  const payload = people.flatMap(({ rowNo, person }) =>
    person === null ? [] : [[rowNo, ...identityValues(person)]],
  );
  if (payload.length > 0) transaction.send(insertPeople, payloadOf(payload));
}

const deleteRows = statement('delete_rows', 'DELETE FROM investment_rows WHERE row_no = ANY($1::bigint[])');

/** Deletes rows and their identities. */
export function removeRows(transaction: Transaction, rowNos: readonly number[]): void {
  if (rowNos.length === 0) return;
  transaction.send(deletePeople, rowNos);
  transaction.send(deleteRows, rowNos);
}
