import type { Instant } from '../../../domain/instant.js';
import type { Cause } from '../../erasures.js';
import { payloadOf, recordset } from './recordset.js';
import { statement, type Transaction } from './transaction.js';
import { stripUnknownKeys } from './unknown-keys.js';

/**
 * Erases personal data in the caller's transaction, wherever it is stored: rows, staged rows, quarantined bodies and
 * bodies of deliveries. Unknown fields may contain personal data, so they are erased from rows and history too. Writes
 * one receipt, without personal data, for each erasure that found something.
 *
 * The erased bytes remain in the tables' files until the scrub. Triggers on these tables mark the files to rewrite;
 * marks of this transaction are flagged as receipted, so that the scrub writes no second receipt for them.
 */
export class IdentityEraser {
  /** Records removed from this source, and people removed from the platform. */
  readonly #records = new Map<string, Cause>();
  readonly #people = new Set<string>();
  readonly #receipts = new Map<string | null, Cause>();

  constructor(
    private readonly transaction: Transaction,
    private readonly sourceNo: number,
    private readonly at: Instant,
  ) {}

  /**
   * Erases the personal data of records that were withdrawn, or whose person was deactivated. The rows may stay visible
   * until a listing is complete.
   */
  async records(gone: readonly (readonly [id: string, cause: 'tombstone' | 'deactivated'])[]): Promise<void> {
    if (gone.length === 0) return;
    const ids = gone.map(([id]) => id);
    for (const sql of ofRecordsUnknown) this.transaction.send(sql, this.sourceNo, ids);
    const found = await this.#erase(ofRecords, this.sourceNo, ids);
    for (const [id, cause] of gone) {
      this.#records.set(id, cause);
      if (found.has(id)) this.#receipts.set(id, cause);
    }
  }

  /** Records the erasure of a record that a complete listing no longer names. The caller deletes row and identity. */
  absent(id: string): void {
    this.#records.set(id, 'absent');
    this.#receipts.set(id, 'absent');
  }

  /**
   * Erases the personal data of deactivated investors in every source. Call it before the deactivated record is written.
   * Rows that are already marked as deactivated are kept: they hold the platform's replacement for the name.
   */
  async deactivated(investors: readonly string[]): Promise<void> {
    const fresh = [...new Set(investors)].filter((investor) => !this.#people.has(investor));
    if (fresh.length === 0) return;
    for (const investor of fresh) this.#people.add(investor);
    for (const sql of ofPeopleUnknown) this.transaction.send(sql, fresh);
    const found = await this.#erase(ofPeople, fresh);
    for (const investor of fresh) if (found.has(investor)) this.#receipts.set(investor, 'deactivated');
  }

  /** Erases all personal data of the source. */
  async source(cause: 'grant_lost' | 'dropped'): Promise<void> {
    let found = 0;
    for (const sql of wholeSourceUnknown) this.transaction.send(sql, this.sourceNo);
    for (const sql of wholeSource) found += await this.transaction.run(sql, this.sourceNo);
    if (found > 0) this.#receipts.set(null, cause);
  }

  /** Writes the receipts; nothing is erased after this. Returns the number of receipts. */
  async finish(): Promise<number> {
    if (this.#records.size + this.#people.size > 0) await this.#blankBodies();
    if (this.#receipts.size === 0) return 0;
    const receipts = [...this.#receipts].map(([id, cause], n) => [n, id, cause]);
    this.transaction.send(writeReceipts, this.sourceNo, this.at, payloadOf(receipts));
    this.transaction.send(markReceipted);
    return receipts.length;
  }

  /** Returns the ids for which at least one statement erased something. */
  async #erase(statements: readonly string[], ...values: readonly unknown[]): Promise<ReadonlySet<string>> {
    const found = new Set<string>();
    for (const sql of statements)
      for (const { whose } of await this.transaction.rows<{ whose: string }>(sql, ...values))
        found.add(whose);
    return found;
  }

  async #blankBodies(): Promise<void> {
    const records = [...this.#records.keys()];
    const people = [...this.#people];
    const allIds = [...new Set([...records, ...people])];
    this.transaction.send(stripStaged, this.sourceNo, records, people);
    await this.#blank(blankStaged, this.sourceNo, records, people);
    await this.#blank(blankQuarantine, this.sourceNo, records);
    // A record's own quarantined entries were found by its id above; a person may be named in any entry.
    await this.#blank(blankNamingCases, allIds, people.length);
    await this.#blank(blankNamingDeliveries, allIds);
  }

  async #blank(sql: string, ...values: readonly unknown[]): Promise<void> {
    const blanked = await this.transaction.rows<{ id: string | null }>(sql, ...values);
    // A body that names an erased person is covered by that person's receipt; a body may also name several people.
    for (const { id } of blanked) {
      const known = this.#receipts.has(id) || (this.#receipts.size > 0 && !this.#records.has(id ?? ''));
      if (!known) this.#receipts.set(id, this.#records.get(id ?? '') ?? 'deactivated');
    }
  }
}

const writeReceipts = statement(
  'write_receipts',
  `INSERT INTO erasures (source_no, id, cause, invisible_at)
   SELECT $1, t.id, t.cause, $2 FROM ${recordset('$3', 'n int', 'id text', 'cause text')} ORDER BY t.n`,
);

/** Only marks of this transaction: those of earlier ones may still need a receipt. */
export const markReceipted = statement(
  'marks_are_told',
  'UPDATE residue_marks SET receipted = 1 WHERE xact = pg_current_xact_id()',
);

const wholeSourceUnknown = ['investment_rows', 'history_rows', 'staged_rows'].map((table) =>
  stripUnknownKeys(table, 'source_no = $1'),
);

const wholeSource = [
  'DELETE FROM identity_rows WHERE row_no IN (SELECT row_no FROM investment_rows WHERE source_no = $1)',
  'UPDATE staged_rows SET identity = NULL WHERE identity IS NOT NULL AND source_no = $1',
  // Deliveries are not listed here: bodies of deliveries are stored without personal data.
  "UPDATE quarantine_rows SET body = NULL WHERE body <> '' AND source_no = $1",
  ...['investment_rows', 'history_rows', 'staged_rows'].map(
    (table) => `UPDATE ${table} SET extra = NULL WHERE extra IS NOT NULL AND source_no = $1`,
  ),
];

const ofRecordsUnknown = ['investment_rows', 'history_rows'].map((table) =>
  stripUnknownKeys(table, 'source_no = $1 AND id = ANY($2::text[])'),
);

const ofRecords = [
  `DELETE FROM identity_rows i USING investment_rows r
   WHERE i.row_no = r.row_no AND r.source_no = $1 AND r.id = ANY($2::text[]) RETURNING r.id AS whose`,
  ...['investment_rows', 'history_rows'].map(
    (table) => `UPDATE ${table} SET extra = NULL
      WHERE extra IS NOT NULL AND source_no = $1 AND id = ANY($2::text[]) RETURNING id AS whose`,
  ),
];

const ofPeopleUnknown = [
  stripUnknownKeys(
    'history_rows',
    `investor_deactivated = 0 AND (id, source_no) IN
       (SELECT r.id, r.source_no FROM investment_rows r WHERE r.investor_id = ANY($1::text[]))`,
  ),
  stripUnknownKeys('investment_rows', 'investor_id = ANY($1::text[]) AND investor_deactivated = 0'),
];

const ofPeople = [
  `UPDATE history_rows h SET extra = NULL FROM investment_rows r
   WHERE r.investor_id = ANY($1::text[]) AND h.id = r.id AND h.source_no = r.source_no
     AND h.extra IS NOT NULL AND h.investor_deactivated = 0 RETURNING r.investor_id AS whose`,
  `DELETE FROM identity_rows i USING investment_rows r
   WHERE i.row_no = r.row_no AND r.investor_id = ANY($1::text[]) AND r.investor_deactivated = 0
   RETURNING r.investor_id AS whose`,
  `UPDATE investment_rows SET extra = NULL
   WHERE extra IS NOT NULL AND investor_id = ANY($1::text[]) AND investor_deactivated = 0
   RETURNING investor_id AS whose`,
];

const stagedOfErased = `((source_no = $1 AND id = ANY($2::text[]))
      OR (investor_id = ANY($3::text[]) AND investor_deactivated = 0))`;

const stripStaged = stripUnknownKeys('staged_rows', stagedOfErased);

const blankStaged = `
  UPDATE staged_rows SET identity = NULL, extra = NULL
  WHERE (identity IS NOT NULL OR extra IS NOT NULL) AND ${stagedOfErased}
  RETURNING id`;

const blankQuarantine = `
  UPDATE quarantine_rows SET body = NULL
  WHERE body <> '' AND source_no = $1 AND id = ANY($2::text[]) RETURNING id`;

/** The SQL equivalent of `idsIn` in forgotten.ts: matches whole ids only. */
const namingErased = `EXISTS (SELECT 1 FROM regexp_matches(body, '(?<![A-Za-z0-9_])(?:inv|invt|usr)_[A-Za-z0-9_-]+', 'g') AS m
           WHERE m[1] = ANY($1::text[]))`;

const blankNamingCases = `
  UPDATE quarantine_rows SET body = NULL
  WHERE body IS NOT NULL AND (id IS NULL OR $2::int > 0) AND ${namingErased} RETURNING id`;

const blankNamingDeliveries = `
  UPDATE webhook_inbox SET body = NULL WHERE body IS NOT NULL AND ${namingErased} RETURNING investment AS id`;
