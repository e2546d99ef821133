import type { Instant } from '../../../domain/instant.js';
import type { Cause } from '../../erasures.js';
import { idsIn } from '../../forgotten.js';
import type { RawDatabase } from './prepared.js';

/**
 * Erases people in the transaction of whoever calls, wherever identity stands: rows, staged rows, bodies set
 * aside, bodies of deliveries. Fields we do not know may speak of them, so these go from rows and history too. One receipt for each erasure that found something, without identity in it.
 *
 * What is left are bytes in pages of the file, for the scrub. The triggers on these tables ask for it as well;
 * where a receipt asks already their mark is taken back, so that one erasure is not told twice.
 */
export class Erasing {
  /** Records gone from this source, and people gone from the platform. */
  readonly #records = new Map<string, Cause>();
  readonly #people = new Set<string>();
  readonly #receipts = new Map<string | null, Cause>();
  /** Removals of an earlier commit wait without a receipt: their mark must stay. */
  readonly #waiting: boolean;

  constructor(
    private readonly raw: RawDatabase,
    private readonly sourceNo: number,
    private readonly at: Instant,
    anyWaiting: { get(): unknown },
  ) {
    this.#waiting = anyWaiting.get() !== undefined;
  }

  /**
   * Withdrawn on the platform, or of a person who is gone: its row may stay visible until a listing is complete,
   * its person may not.
   */
  record(id: string, cause: 'tombstone' | 'deactivated'): void {
    this.#records.set(id, cause);
    if (this.#run(ofRecord, { source: this.sourceNo, id }) > 0) this.#receipts.set(id, cause);
  }

  /** Not named by a complete listing any more; the caller deletes the identity with the row. */
  absent(id: string): void {
    this.#records.set(id, 'absent');
    this.#receipts.set(id, 'absent');
  }

  /**
   * In every source, before the record that says so is written. Rows that say so already hold what the platform
   * put in place of the name, and stay.
   */
  deactivated(investor: string): void {
    if (this.#people.has(investor)) return;
    this.#people.add(investor);
    if (this.#run(ofPerson, { investor }) > 0) this.#receipts.set(investor, 'deactivated');
  }

  /** All of the source, whoever it was. */
  source(cause: 'grant_lost' | 'dropped'): void {
    if (this.#run(wholeSource, { source: this.sourceNo }) > 0) this.#receipts.set(null, cause);
  }

  /** Nothing is erased after this. Answers how many receipts it wrote. */
  finish(): number {
    if (this.#records.size + this.#people.size > 0) this.#blankBodies();
    if (this.#receipts.size === 0) return 0;
    const write = this.raw.prepare(
      'INSERT INTO erasures (source_no, id, cause, invisible_at) VALUES (?, ?, ?, ?)',
    );
    for (const [id, cause] of this.#receipts) write.run(this.sourceNo, id, cause, this.at);
    if (!this.#waiting) this.raw.exec('DELETE FROM identity_residue');
    return this.#receipts.size;
  }

  /** Answers how many rows lost something. */
  #run(statements: readonly string[], values: Record<string, unknown>): number {
    return statements.reduce((found, sql) => found + this.raw.prepare(sql).run(values).changes, 0);
  }

  #blankBodies(): void {
    const records = JSON.stringify([...this.#records.keys()]);
    const people = JSON.stringify([...this.#people]);
    const everybody = new Set([...this.#records.keys(), ...this.#people]);
    const source = this.sourceNo;
    this.#blank(blankStaged, { source, records, people });
    this.#blank(blankQuarantine, { source, records });
    // Bodies are as they were sent: each is read once and asked for all ids together.
    for (const { list, blank } of bodies) {
      const naming: number[] = [];
      const rows = this.raw.prepare<[object], { no: number; body: string }>(list);
      for (const { no, body } of rows.iterate({ people: this.#people.size }))
        if ([...idsIn(body)].some((id) => everybody.has(id))) naming.push(no);
      if (naming.length > 0) this.#blank(blank, { nos: JSON.stringify(naming) });
    }
  }

  #blank(sql: string, values: Record<string, unknown>): void {
    const blanked = this.raw.prepare<[typeof values], { id: string | null }>(sql).all(values);
    // What names a person erased as such is covered by that receipt; a body may name several, or none we know.
    for (const { id } of blanked) {
      const known = this.#receipts.has(id) || (this.#receipts.size > 0 && !this.#records.has(id ?? ''));
      if (!known) this.#receipts.set(id, this.#records.get(id ?? '') ?? 'deactivated');
    }
  }
}

const ofSource = 'row_no IN (SELECT row_no FROM investment_rows WHERE source_no = :source)';

const wholeSource = [
  `DELETE FROM identity_rows WHERE ${ofSource}`,
  'UPDATE staged_rows SET identity = NULL WHERE identity IS NOT NULL AND source_no = :source',
  // Deliveries are not among them: of those nothing is kept that speaks of people.
  "UPDATE quarantine_rows SET body = NULL WHERE body <> '' AND source_no = :source",
  ...['investment_rows', 'history_rows', 'staged_rows'].map(
    (table) => `UPDATE ${table} SET extra = NULL WHERE extra IS NOT NULL AND source_no = :source`,
  ),
];

const ofRecord = [
  `DELETE FROM identity_rows WHERE row_no IN
     (SELECT row_no FROM investment_rows WHERE id = :id AND source_no = :source)`,
  'UPDATE investment_rows SET extra = NULL WHERE extra IS NOT NULL AND id = :id AND source_no = :source',
  'UPDATE history_rows SET extra = NULL WHERE extra IS NOT NULL AND id = :id AND source_no = :source',
];

const ofPerson = [
  `UPDATE history_rows SET extra = NULL
   WHERE extra IS NOT NULL AND investor_deactivated = 0
     AND (id, source_no) IN (SELECT id, source_no FROM investment_rows WHERE investor_id = :investor)`,
  `DELETE FROM identity_rows WHERE row_no IN
     (SELECT row_no FROM investment_rows WHERE investor_id = :investor AND investor_deactivated = 0)`,
  `UPDATE investment_rows SET extra = NULL
   WHERE extra IS NOT NULL AND investor_id = :investor AND investor_deactivated = 0`,
];

const blankStaged = `
  UPDATE staged_rows SET identity = NULL, extra = NULL
  WHERE (identity IS NOT NULL OR extra IS NOT NULL)
    AND ((source_no = :source AND id IN (SELECT value FROM json_each(:records)))
      OR (investor_id IN (SELECT value FROM json_each(:people)) AND investor_deactivated = 0))
  RETURNING id`;

const blankQuarantine = `
  UPDATE quarantine_rows SET body = NULL
  WHERE body <> '' AND source_no = :source AND id IN (SELECT value FROM json_each(:records))
  RETURNING id`;

const bodies = [
  {
    // A record's own cases were found by its id above; a person may be named in anybody's.
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
