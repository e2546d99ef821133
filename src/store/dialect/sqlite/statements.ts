import { type ColumnValue, identityColumns, recordColumns } from '../../record-columns.js';
import type { HistoryRowsTable } from '../../schema.js';
import type { IdentityColumns, RecordColumns } from '../../schema-columns.js';
import type { LeaseRow, ListingRow, SourceRow, SweepRow } from '../../source-row.js';
import { tickColumns } from '../../tick-outcome.js';
import { storedForComparison } from './compared-row.js';
import { fastRows } from './fast-rows.js';
import type { Prepare, Prepared, RawDatabase } from './prepared.js';

export interface StoredColumns extends RecordColumns {
  readonly row_no: number;
  readonly id: string;
}

const record = recordColumns.join(', ');
const recordMarks = recordColumns.map(() => '?').join(', ');
const recordSet = recordColumns.map((column) => `${column} = ?`).join(', ');
const recordTaken = recordColumns.map((column) => `${column} = excluded.${column}`).join(', ');
const identity = identityColumns.join(', ');
const identityMarks = identityColumns.map(() => '?').join(', ');

/**
 * Prepares the statements once for reuse: preparing one costs more than running most of them. In a statement with a join, a
 * parameter that is compared with a column is written `+?`. The driver's SQLite is built with STAT4: its planner looks at
 * the values of plain parameters of a join, and prepares the statement again whenever they are bound.
 */
export function prepareStatements(raw: RawDatabase) {
  const prepare: Prepare = (sql) => raw.prepare(sql);
  return {
    /** For statements that are not prepared in advance. */
    raw: raw satisfies RawDatabase as RawDatabase,
    source: fastRows(prepare<[string], SourceRow>('SELECT * FROM sources WHERE name = ?')),
    addSource: prepare<[string, string]>(
      'INSERT INTO sources (name, fingerprint) VALUES (?, ?) ON CONFLICT (name) DO NOTHING',
    ),
    /** Writes only the changed columns: a tick changes few, and writing all of them would also run a trigger. */
    updateSource: updating(prepare, (set) => `UPDATE sources SET ${set} WHERE no = ?`),
    listing: prepare<[number], ListingRow>('SELECT * FROM listings WHERE source_no = ?'),
    sweep: prepare<[number], SweepRow>('SELECT * FROM sweeps WHERE source_no = ?'),
    lease: prepare<[number], LeaseRow>('SELECT holder, fence, expires_at FROM leases WHERE source_no = ?'),
    takeLease: prepare<[number, string, number, string]>(
      `INSERT INTO leases (source_no, holder, fence, expires_at) VALUES (?, ?, ?, ?)
       ON CONFLICT (source_no) DO UPDATE
       SET holder = excluded.holder, fence = excluded.fence, expires_at = excluded.expires_at`,
    ),
    moveLease: prepare<[string, number, number]>(
      'UPDATE leases SET expires_at = ? WHERE source_no = ? AND fence = ?',
    ),

    lastSeq: prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'change_rows'").pluck(),
    held: fastRows(
      prepare<[number, string], StoredColumns>(
        `SELECT row_no, id, ${record} FROM investment_rows WHERE source_no = ? AND id = ?`,
      ),
    ),
    storedForComparison: prepare<[number, string], readonly ColumnValue[]>(storedForComparison).raw(),
    heldIdentity: fastRows(
      prepare<[number], IdentityColumns>(`SELECT ${identity} FROM identity_rows WHERE row_no = ?`),
    ),
    insertRow: prepare<unknown[]>(
      `INSERT INTO investment_rows (source_no, id, valid_from, change_seq, ${record})
       VALUES (?, ?, ?, ?, ${recordMarks})`,
    ),
    insertListed: prepare<unknown[]>(
      `INSERT OR IGNORE INTO investment_rows (source_no, id, ${record}) VALUES (?, ?, ${recordMarks})`,
    ),
    updateListed: prepare<unknown[], number>(
      `UPDATE investment_rows SET ${recordSet} WHERE source_no = ? AND id = ? RETURNING row_no`,
    ).pluck(),
    /** Writes only the changed columns, so that indexes of the other columns are not written. */
    updateRow: updating(
      prepare,
      (set) =>
        `UPDATE investment_rows SET valid_from = ?, change_seq = coalesce(?, change_seq), ${set} WHERE row_no = ?`,
    ),
    deleteRow: prepare<[number]>('DELETE FROM investment_rows WHERE row_no = ?'),
    deleteListed: prepare<[number, string]>('DELETE FROM investment_rows WHERE source_no = ? AND id = ?'),
    countRows: prepare<[number], number>('SELECT count(*) FROM investment_rows WHERE source_no = ?').pluck(),
    /** The rows of a source whose totals were just written. */
    countInRounds: prepare<[number], number>(
      'SELECT coalesce(sum(investments), 0) FROM round_rows WHERE source_no = ?',
    ).pluck(),
    list: prepare<[string, number]>('UPDATE sources SET listed_at = ? WHERE no = ?'),
    deleteRows: prepare<[number]>('DELETE FROM investment_rows WHERE source_no = ?'),
    putIdentity: prepare<unknown[]>(
      `INSERT INTO identity_rows (row_no, ${identity}) VALUES (?, ${identityMarks})`,
    ),
    residue: prepare<[], number>('SELECT 1 FROM identity_residue').pluck(),
    /** Whether the indexes exist, so that records can be found by id or investor. */
    indexed: onceTrue(
      prepare<[], number>("SELECT 1 FROM sqlite_schema WHERE name = 'investment_rows_investor'"),
    ),
    forgotten: prepare<[], string>('SELECT id FROM forgotten').pluck(),
    investorOf: prepare<[string], string | null>(
      'SELECT investor_id FROM investment_rows WHERE id = ? AND investor_id IS NOT NULL LIMIT 1',
    ).pluck(),
    deleteIdentity: prepare<[number]>('DELETE FROM identity_rows WHERE row_no = ?'),
    archive: prepare<[string, HistoryRowsTable['ended_by'], number]>(
      `INSERT INTO history_rows (source_no, id, ${record}, valid_from, change_seq, valid_to, ended_by)
       SELECT r.source_no, r.id, ${recordColumns.map((column) => `r.${column}`).join(', ')},
              coalesce(r.valid_from, s.listed_at), coalesce(r.change_seq, s.listed_seq), ?, ?
       FROM investment_rows r JOIN sources s ON s.no = r.source_no WHERE r.row_no = +?`,
    ),
    insertChange: prepare<[number, number, string | null, string, string, string | null, string]>(
      'INSERT INTO change_rows (seq, source_no, id, kind, fields, reason, at) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    insertNotice: prepare<[number, number, string, string, string, string]>(
      'INSERT INTO notice_rows (source_no, seq, target, body, queued_at, next_at) VALUES (?, ?, ?, ?, ?, ?)',
    ),

    lastNotice: prepare<
      [string, number, string, string],
      { notice: number; body: string; state: string; attempts: number; next_at: string }
    >(
      `SELECT n.notice, n.body, n.state, n.attempts, n.next_at
       FROM change_rows c JOIN notice_rows n ON n.seq = c.seq
       WHERE c.id = +? AND c.source_no = +? AND n.target = +? AND n.next_at > +?
       ORDER BY c.seq DESC LIMIT 1`,
    ),
    foldNotice: prepare<[number, string, number]>(
      'UPDATE notice_rows SET seq = ?, body = ? WHERE notice = ?',
    ),
    deleteNotice: prepare<[number]>('DELETE FROM notice_rows WHERE notice = ?'),

    openQuarantine: prepare<
      [number, string],
      { quarantine_no: number; problem: string; body: string | null }
    >(
      `SELECT quarantine_no, problem, body FROM quarantine_rows
       WHERE source_no = ? AND id = ? AND resolved_at IS NULL`,
    ),
    sameQuarantine: prepare<[number, string], number>(
      `SELECT quarantine_no FROM quarantine_rows
       WHERE source_no = ? AND digest = ? AND resolved_at IS NULL`,
    ).pluck(),
    /** Finds entries stored by a version without digests. */
    sameBody: prepare<[number, string], number>(
      `SELECT quarantine_no FROM quarantine_rows
       WHERE source_no = ? AND id IS NULL AND digest IS NULL AND body = ? AND resolved_at IS NULL`,
    ).pluck(),
    insertQuarantine: prepare<[number, string | null, string, string, string | null, string]>(
      'INSERT INTO quarantine_rows (source_no, id, problem, body, digest, seen_at) VALUES (?, ?, ?, ?, ?, ?)',
    ),
    countOverflow: prepare<[times: number, at: string, source: number, digest: string]>(
      `UPDATE quarantine_rows SET times = times + ?, seen_at = ?
       WHERE source_no = ? AND digest = ? AND resolved_at IS NULL`,
    ),
    insertOverflow: prepare<[source: number, problem: string, digest: string, times: number, at: string]>(
      "INSERT INTO quarantine_rows (source_no, problem, body, digest, times, seen_at) VALUES (?, ?, '', ?, ?, ?)",
    ),
    countQuarantine: prepare<[number], number>(
      `SELECT coalesce(sum(times), 0) FROM quarantine_rows WHERE source_no = ? AND resolved_at IS NULL`,
    ).pluck(),
    updateQuarantine: prepare<[string, string, string, number]>(
      'UPDATE quarantine_rows SET problem = ?, body = ?, seen_at = ? WHERE quarantine_no = ?',
    ),
    touchQuarantine: prepare<[string, string, string, number]>(
      'UPDATE quarantine_rows SET problem = ?, digest = ?, seen_at = ? WHERE quarantine_no = ?',
    ),
    resolveQuarantine: prepare<[string, number, string]>(
      `UPDATE quarantine_rows SET resolved_at = ?, body = NULL
       WHERE source_no = ? AND id = ? AND resolved_at IS NULL`,
    ),
    /** Whether an entry without a readable id was read since this time. */
    anyUnidentified: prepare<[number, string], number>(
      `SELECT 1 FROM quarantine_rows
       WHERE source_no = ? AND id IS NULL AND seen_at >= ? AND resolved_at IS NULL LIMIT 1`,
    ).pluck(),
    /** Needed at the start of a listing because commit times do not advance after the clock was set back. */
    quarantineSeenBefore: prepare<[string, number, string]>(
      'UPDATE quarantine_rows SET seen_at = ? WHERE source_no = ? AND seen_at >= ? AND resolved_at IS NULL',
    ),
    setOverflowAside: prepare<[before: string, source: number, digest: string]>(
      'UPDATE quarantine_rows SET digest = ? WHERE source_no = ? AND digest = ? AND resolved_at IS NULL',
    ),
    resolveQuarantineBefore: prepare<[string, number, string]>(
      `UPDATE quarantine_rows SET resolved_at = ?, body = NULL
       WHERE source_no = ? AND seen_at < ? AND resolved_at IS NULL`,
    ),
    driftFields: prepare<[number], string>('SELECT field FROM drift_rows WHERE source_no = ?').pluck(),
    countDrift: prepare<[number, string, number, string, string]>(
      `INSERT INTO drift_rows (source_no, field, times, first_seen, last_seen) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (source_no, field) DO UPDATE
       SET times = times + excluded.times, last_seen = excluded.last_seen`,
    ),

    insertListing: prepare<[number, string, number, number, string | null, string]>(
      `INSERT INTO listings (source_no, kind, generation, restarts, not_before, started_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    advanceListing: prepare<[string | null, string | null, string | null, number, number, number]>(
      'UPDATE listings SET token = ?, final = ?, low_mark = ?, pages = ?, rows = ? WHERE source_no = ?',
    ),
    deleteListing: prepare<[number]>('DELETE FROM listings WHERE source_no = ?'),
    putSweep: prepare<[number, string | null, string]>(
      'INSERT OR REPLACE INTO sweeps (source_no, since, cursor) VALUES (?, ?, ?)',
    ),
    advanceSweep: prepare<[string, number]>('UPDATE sweeps SET reached = ? WHERE source_no = ?'),
    deleteSweep: prepare<[number]>('DELETE FROM sweeps WHERE source_no = ?'),

    stage: prepare<unknown[]>(
      // Not REPLACE: it deletes rows without firing the triggers that request a scrub.
      `INSERT INTO staged_rows (source_no, id, row_no, identity, ${record})
       VALUES (?, ?, ?, ?, ${recordMarks})
       ON CONFLICT (source_no, id) DO UPDATE
       SET row_no = excluded.row_no, identity = excluded.identity, ${recordTaken}`,
    ),
    unstage: prepare<[number, string]>('DELETE FROM staged_rows WHERE source_no = ? AND id = ?'),
    anyStaged: prepare<[number], number>('SELECT 1 FROM staged_rows WHERE source_no = ? LIMIT 1').pluck(),
    deleteStaged: prepare<[number]>('DELETE FROM staged_rows WHERE source_no = ?'),
    rememberSeen: prepare<[number, number, string]>(
      'INSERT OR REPLACE INTO staged_pages (source_no, page, seen) VALUES (?, ?, ?)',
    ),
    forgetSeen: prepare<[number, number, number]>(
      `UPDATE staged_pages
       SET seen = (SELECT coalesce(json_group_array(value), '[]') FROM json_each(seen) WHERE value <> ?)
       WHERE source_no = ? AND EXISTS (SELECT 1 FROM json_each(seen) WHERE value = ?)`,
    ),
    deleteSeen: prepare<[number]>('DELETE FROM staged_pages WHERE source_no = ?'),
    storedAmong: prepare<[string, number], number>(
      `SELECT r.row_no FROM json_each(?) t CROSS JOIN investment_rows r ON r.row_no = t.value
       WHERE r.source_no = ? ORDER BY r.row_no`,
    ).pluck(),

    /** Marks rows with this generation. Rows marked before keep their `missing_since`. */
    markUnseen: prepare<[number, number, string, string]>(
      `INSERT INTO awaiting_deletion_rows (row_no, source_no, generation, missing_since)
       SELECT value, ?, ?, ? FROM json_each(?) WHERE true
       ON CONFLICT (row_no) DO UPDATE SET generation = excluded.generation`,
    ),
    unmarkOthers: prepare<[number, number]>(
      'DELETE FROM awaiting_deletion_rows WHERE source_no = ? AND generation <> ?',
    ),
    unmarkNamed: prepare<[string, number]>(
      `DELETE FROM awaiting_deletion_rows WHERE row_no IN (
         SELECT r.row_no FROM json_each(?) named CROSS JOIN investment_rows r ON r.id = named.value AND r.source_no = ?)`,
    ),
    unmarkAll: prepare<[number]>('DELETE FROM awaiting_deletion_rows WHERE source_no = ?'),

    insertTick: prepare<unknown[]>(
      `INSERT INTO tick_rows (${tickColumns.join(', ')}) VALUES (${tickColumns.map(() => '?').join(', ')})`,
    ),
  };
}

/** Caches a true result: indexes stay once they are built, and searching the schema for each page is slow. */
function onceTrue(found: Prepared<[]>): () => boolean {
  let isTrue = false;
  return () => {
    isTrue ||= found.get() !== undefined;
    return isTrue;
  };
}

/** The number of column sets whose statements are cached; in practice a few sets change together. */
const setsMax = 64;

/** Returns a function that prepares the UPDATE of a set of columns, once per set. */
function updating(
  prepare: Prepare,
  statement: (set: string) => string,
): (columns: readonly string[]) => Prepared<unknown[]> {
  const prepared = new Map<string, Prepared<unknown[]>>();
  return (columns) => {
    const set = columns.map((column) => `${column} = ?`).join(', ');
    const cached = prepared.get(set);
    if (cached !== undefined) return cached;
    if (prepared.size >= setsMax) prepared.clear();
    const created = prepare<unknown[]>(statement(set));
    prepared.set(set, created);
    return created;
  };
}

export type Statements = ReturnType<typeof prepareStatements>;
