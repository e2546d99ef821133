import type { Instant } from '../../../domain/instant.js';
import type { Cause } from '../../erasures.js';
import { idsIn } from '../../forgotten.js';
import type { RawDatabase } from './prepared.js';
import { stripUnknownKeys } from './unknown-keys.js';

/**
 * Erases personal data in the caller's transaction, wherever it is stored: rows, staged rows, quarantined bodies and
 * bodies of deliveries. Unknown fields may contain personal data, so they are erased from rows and history too. Writes
 * one receipt, without personal data, for each erasure that found something.
 *
 * The erased bytes remain in pages of the file until the scrub. Triggers on these tables set a mark that requests it;
 * when a receipt requests it already, the mark is deleted, so that one erasure does not get two receipts.
 */
export class IdentityEraser {
  /** Records removed from this source, and people removed from the platform. */
  readonly #records = new Map<string, Cause>();
  readonly #people = new Set<string>();
  readonly #receipts = new Map<string | null, Cause>();
  /** Whether removals of an earlier commit still need a receipt: then the mark must stay. */
  readonly #hadResidue: boolean;

  constructor(
    private readonly raw: RawDatabase,
    private readonly sourceNo: number,
    private readonly at: Instant,
    residue: { get(): unknown },
  ) {
    this.#hadResidue = residue.get() !== undefined;
  }

  /**
   * Erases the personal data of a record that was withdrawn, or whose person was deactivated. The row may stay visible
   * until a listing is complete.
   */
  record(id: string, cause: 'tombstone' | 'deactivated'): void {
    this.#records.set(id, cause);
    this.#run(ofRecordUnknown, { source: this.sourceNo, id });
    if (this.#run(ofRecord, { source: this.sourceNo, id }) > 0) this.#receipts.set(id, cause);
  }

  /** Records the erasure of a record that a complete listing no longer names. The caller deletes row and identity. */
  absent(id: string): void {
    this.#records.set(id, 'absent');
    this.#receipts.set(id, 'absent');
  }

  /**
   * Erases the personal data of a deactivated investor in every source. Call it before the deactivated record is written.
   * Rows that are already marked as deactivated are kept: they hold the platform's replacement for the name.
   */
  deactivated(investor: string): void {
    if (this.#people.has(investor)) return;
    this.#people.add(investor);
    this.#run(ofPersonUnknown, { investor });
    if (this.#run(ofPerson, { investor }) > 0) this.#receipts.set(investor, 'deactivated');
  }

  /** Erases all personal data of the source. */
  source(cause: 'grant_lost' | 'dropped'): void {
    this.#run(wholeSourceUnknown, { source: this.sourceNo });
    if (this.#run(wholeSource, { source: this.sourceNo }) > 0) this.#receipts.set(null, cause);
  }

  /** Writes the receipts; nothing is erased after this. Returns the number of receipts. */
  finish(): number {
    if (this.#records.size + this.#people.size > 0) this.#blankBodies();
    if (this.#receipts.size === 0) return 0;
    const write = this.raw.prepare(
      'INSERT INTO erasures (source_no, id, cause, invisible_at) VALUES (?, ?, ?, ?)',
    );
    for (const [id, cause] of this.#receipts) write.run(this.sourceNo, id, cause, this.at);
    if (!this.#hadResidue) this.raw.exec('DELETE FROM identity_residue');
    return this.#receipts.size;
  }

  /** Returns the number of rows affected. */
  #run(statements: readonly string[], values: Record<string, unknown>): number {
    return statements.reduce((found, sql) => found + this.raw.prepare(sql).run(values).changes, 0);
  }

  #blankBodies(): void {
    const records = JSON.stringify([...this.#records.keys()]);
    const people = JSON.stringify([...this.#people]);
    const allIds = new Set([...this.#records.keys(), ...this.#people]);
    const source = this.sourceNo;
    this.raw.prepare(stripStaged).run({ source, records, people });
    this.#blank(blankStaged, { source, records, people });
    this.#blank(blankQuarantine, { source, records });
    // Bodies are stored as received: each is read once and searched for all ids together.
    for (const { list, blank } of bodies) {
      const matches: number[] = [];
      const rows = this.raw.prepare<[object], { no: number; body: string }>(list);
      for (const { no, body } of rows.iterate({ people: this.#people.size }))
        if ([...idsIn(body)].some((id) => allIds.has(id))) matches.push(no);
      if (matches.length > 0) this.#blank(blank, { nos: JSON.stringify(matches) });
    }
  }

  #blank(sql: string, values: Record<string, unknown>): void {
    const blanked = this.raw.prepare<[typeof values], { id: string | null }>(sql).all(values);
    // A body that names an erased person is covered by that person's receipt; a body may also name several people.
    for (const { id } of blanked) {
      const known = this.#receipts.has(id) || (this.#receipts.size > 0 && !this.#records.has(id ?? ''));
      if (!known) this.#receipts.set(id, this.#records.get(id ?? '') ?? 'deactivated');
    }
  }
}

const ofSource = 'row_no IN (SELECT row_no FROM investment_rows WHERE source_no = :source)';

const wholeSourceUnknown = ['investment_rows', 'history_rows', 'staged_rows'].map((table) =>
  stripUnknownKeys(table, 'source_no = :source'),
);

const wholeSource = [
  `DELETE FROM identity_rows WHERE ${ofSource}`,
  'UPDATE staged_rows SET identity = NULL WHERE identity IS NOT NULL AND source_no = :source',
  // Deliveries are not listed here: bodies of deliveries are stored without personal data.
  "UPDATE quarantine_rows SET body = NULL WHERE body <> '' AND source_no = :source",
  ...['investment_rows', 'history_rows', 'staged_rows'].map(
    (table) => `UPDATE ${table} SET extra = NULL WHERE extra IS NOT NULL AND source_no = :source`,
  ),
];

const ofRecordUnknown = ['investment_rows', 'history_rows'].map((table) =>
  stripUnknownKeys(table, 'id = :id AND source_no = :source'),
);

const ofRecord = [
  `DELETE FROM identity_rows WHERE row_no IN
     (SELECT row_no FROM investment_rows WHERE id = :id AND source_no = :source)`,
  'UPDATE investment_rows SET extra = NULL WHERE extra IS NOT NULL AND id = :id AND source_no = :source',
  'UPDATE history_rows SET extra = NULL WHERE extra IS NOT NULL AND id = :id AND source_no = :source',
];

const historyOfPerson =
  'investor_deactivated = 0 AND (id, source_no) IN (SELECT id, source_no FROM investment_rows WHERE investor_id = :investor)';

const ofPersonUnknown = [
  stripUnknownKeys('history_rows', historyOfPerson),
  stripUnknownKeys('investment_rows', 'investor_id = :investor AND investor_deactivated = 0'),
];

const ofPerson = [
  `UPDATE history_rows SET extra = NULL WHERE extra IS NOT NULL AND ${historyOfPerson}`,
  `DELETE FROM identity_rows WHERE row_no IN
     (SELECT row_no FROM investment_rows WHERE investor_id = :investor AND investor_deactivated = 0)`,
  `UPDATE investment_rows SET extra = NULL
   WHERE extra IS NOT NULL AND investor_id = :investor AND investor_deactivated = 0`,
];

const stagedOfErased = `((source_no = :source AND id IN (SELECT value FROM json_each(:records)))
      OR (investor_id IN (SELECT value FROM json_each(:people)) AND investor_deactivated = 0))`;

const stripStaged = stripUnknownKeys('staged_rows', stagedOfErased);

const blankStaged = `
  UPDATE staged_rows SET identity = NULL, extra = NULL
  WHERE (identity IS NOT NULL OR extra IS NOT NULL) AND ${stagedOfErased}
  RETURNING id`;

const blankQuarantine = `
  UPDATE quarantine_rows SET body = NULL
  WHERE body <> '' AND source_no = :source AND id IN (SELECT value FROM json_each(:records))
  RETURNING id`;

const bodies = [
  {
    // A record's own quarantined entries were found by its id above; a person may be named in any entry.
    list: `SELECT quarantine_no AS no, body FROM quarantine_rows
           WHERE body IS NOT NULL AND (id IS NULL OR :people > 0)`,
    blank: `UPDATE quarantine_rows SET body = NULL
            WHERE quarantine_no IN (SELECT value FROM json_each(:nos)) RETURNING id`,
  },
  {
    list: 'SELECT inbox_no AS no, body FROM webhook_inbox WHERE body IS NOT NULL AND :people >= 0',
    blank: `UPDATE webhook_inbox SET body = NULL
            WHERE inbox_no IN (SELECT value FROM json_each(:nos)) RETURNING investment AS id`,
  },
] as const;
