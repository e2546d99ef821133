import { Fault } from '../../../domain/fault.js';
import { type Instant, instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import type {
  Erasures,
  Forgotten,
  ForgottenSince,
  PendingErasures,
  PersonOrInvestment,
  Scrubbed,
  WriteDown,
} from '../../erasures.js';
import { followedWithNames, noteDropped } from '../../followed-sources.js';
import { withSqliteFaults } from './faults.js';
import { IdentityEraser } from './identity-eraser.js';
import type { SqliteDatabase } from './open.js';
import type { Prepared } from './prepared.js';
import { scrub } from './scrub.js';
import { inTransaction } from './transaction.js';
import { stripUnknownKeys } from './unknown-keys.js';

/** Erases people on SQLite. Needs a writing connection. Throws `database_busy`, `database_full`, `database_unusable`. */
export class SqliteErasures implements Erasures {
  #pendingStatement: Prepared<[], PendingRow> | undefined;

  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
  ) {}

  forget(id: PersonOrInvestment, writeDown: WriteDown = () => {}): Forgotten {
    return this.#inTransaction(() => {
      const at = instantFromMillis(this.clock.now());
      const before = this.#forgottenAt(id);
      if (!this.#isKnown(id) && before === undefined)
        throw new Fault('usage', `${id} is neither an investment nor an investor of this mirror`, {
          hint: 'Look it up: rosterd query "SELECT id, investor_id FROM investments". Ids are case-sensitive.',
        });
      this.#remember({ id, at });
      const identities = this.#erase(id, at);
      const invisibleAt = identities === 0 ? (before ?? at) : at;
      const forgotten = { identities, already: before !== undefined, invisibleAt };
      writeDown({ id, at }, forgotten);
      return forgotten;
    });
  }

  forgotten(): readonly ForgottenSince[] {
    const { raw, file } = this.database;
    return withSqliteFaults(file, () =>
      raw.prepare<[], ForgottenSince>('SELECT id, forgotten_at AS at FROM forgotten').all(),
    );
  }

  requests(): ReadonlyMap<PersonOrInvestment, Instant> {
    const { raw, file } = this.database;
    return withSqliteFaults(file, () => {
      const rows = raw
        .prepare<[], { id: PersonOrInvestment | null; at: Instant | null }>(selectRequests)
        .all();
      return new Map(rows.flatMap(({ id, at }) => (id === null || at === null ? [] : [[id, at]])));
    });
  }

  recall(people: readonly ForgottenSince[]): number {
    return this.#inTransaction(() => {
      const at = instantFromMillis(this.clock.now());
      let found = 0;
      for (const person of people) {
        this.#remember(person);
        if (!this.#isKnown(person.id)) continue;
        this.#erase(person.id, at);
        found += 1;
      }
      return found;
    });
  }

  lift(id: PersonOrInvestment): boolean {
    const { raw, file } = this.database;
    return withSqliteFaults(
      file,
      () => raw.prepare('DELETE FROM forgotten WHERE id = ?').run(id).changes > 0,
    );
  }

  /** Implements `"identity": "drop"`: erases every stored identity. Returns the number of receipts it wrote. */
  dropAll(): number {
    const { raw } = this.database;
    return this.#inTransaction(() => {
      const erased = this.#drop(raw.prepare<[], number>('SELECT no FROM sources').pluck().all());
      raw.exec(
        `UPDATE sources SET identity_included = NULL, names_from_generation = generation + 1
         WHERE identity_included IS NOT NULL`,
      );
      return erased;
    });
  }

  /** Implements `"identity": "drop"` of follow rules. */
  dropFollowed(rules: readonly string[]): number {
    const { raw, file } = this.database;
    const found = () => {
      const withNames = raw.prepare<[string], number>(followedWithNames).pluck();
      return rules.flatMap((rule) => withNames.all(rule));
    };
    // Nearly every start: nothing is written, so it needs no lock.
    if (withSqliteFaults(file, found).length === 0) return 0;
    return this.#inTransaction(() => {
      const sources = found();
      const erased = this.#drop(sources);
      for (const no of sources) raw.prepare(noteDropped).run(no);
      return erased;
    });
  }

  /** For tests and small files: blocks this process until the file is rewritten. `rewritten`: see `scrub`. */
  scrub(rewritten = 0): Scrubbed {
    return scrub(this.database, this.clock, { rewritten });
  }

  /** Returns the erasures that still wait for a scrub. */
  pending(): PendingErasures {
    const { raw, file } = this.database;
    return withSqliteFaults(file, () => {
      // Prepared once: the daemon calls this every half minute.
      this.#pendingStatement ??= raw.prepare(selectPending);
      const row = this.#pendingStatement.get();
      if (row === undefined) throw new Error('a query without FROM returned no row');
      return { ...row, residue: row.residue > 0, listing: row.listing > 0 };
    });
  }

  #inTransaction<Result>(work: () => Result): Result {
    const { raw, file } = this.database;
    return withSqliteFaults(file, () => inTransaction(raw, work));
  }

  /** Erases the identities of these sources. Returns the number of receipts. */
  #drop(sources: readonly number[]): number {
    const { raw } = this.database;
    const at = instantFromMillis(this.clock.now());
    const residue = raw.prepare('SELECT 1 FROM identity_residue');
    let erased = 0;
    for (const no of sources) {
      const erasing = new IdentityEraser(raw, no, at, residue);
      erasing.source('dropped');
      erased += erasing.finish();
    }
    return erased;
  }

  #isKnown(id: PersonOrInvestment): boolean {
    return this.database.raw.prepare(anyMention).get({ id }) !== undefined;
  }

  #forgottenAt(id: PersonOrInvestment): Instant | undefined {
    return this.database.raw
      .prepare<[string], Instant>('SELECT forgotten_at FROM forgotten WHERE id = ?')
      .pluck()
      .get(id);
  }

  #remember({ id, at }: ForgottenSince): void {
    this.database.raw
      .prepare('INSERT INTO forgotten (id, forgotten_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING')
      .run(id, at);
  }

  /** Erases everything about the person or investment and writes a receipt. Returns the number of identities erased. */
  #erase(id: PersonOrInvestment, at: Instant): number {
    const { raw } = this.database;
    const hadResidue = raw.prepare('SELECT 1 FROM identity_residue').get() !== undefined;
    const identities = raw.prepare(deleteIdentities).run({ id }).changes;
    for (const sql of blankUnknown) raw.prepare(sql).run({ id });
    raw.prepare(blankStaged).run({ id });
    // Bodies are stored as received, so every body is erased that names the id or a record of the investor.
    for (const ownId of [id, ...raw.prepare<[{ id: string }], string>(recordsOf).pluck().all({ id })]) {
      raw.prepare(blankQuarantine).run({ id: ownId });
      raw.prepare(blankInbox).run({ id: ownId });
    }
    raw.prepare("INSERT INTO erasures (id, cause, invisible_at) VALUES (?, 'forget', ?)").run(id, at);
    // The receipt above covers the mark set by the triggers, unless there was a mark before.
    if (!hadResidue) raw.exec('DELETE FROM identity_residue');
    return identities;
  }
}

const anyMention = `
  SELECT 1 FROM investment_rows WHERE id = :id OR investor_id = :id
  UNION ALL SELECT 1 FROM history_rows WHERE id = :id OR investor_id = :id
  UNION ALL SELECT 1 FROM staged_rows WHERE id = :id OR investor_id = :id
  UNION ALL SELECT 1 FROM quarantine_rows WHERE id = :id OR instr(body, :id) > 0
  LIMIT 1`;

const deleteIdentities = `
  DELETE FROM identity_rows WHERE row_no IN
    (SELECT row_no FROM investment_rows WHERE id = :id UNION SELECT row_no FROM investment_rows WHERE investor_id = :id)`;
/** Unknown fields may contain personal data: erased from current rows and from every superseded version. */
const historyOf =
  '(id = :id OR investor_id = :id OR id IN (SELECT id FROM investment_rows WHERE investor_id = :id))';
const blankUnknown = [
  stripUnknownKeys('history_rows', historyOf),
  ...['investment_rows', 'staged_rows'].map((table) =>
    stripUnknownKeys(table, 'id = :id OR investor_id = :id'),
  ),
  `UPDATE history_rows SET extra = NULL WHERE extra IS NOT NULL AND ${historyOf}`,
  'UPDATE investment_rows SET extra = NULL WHERE extra IS NOT NULL AND (id = :id OR investor_id = :id)',
];
const blankStaged = `
  UPDATE staged_rows SET identity = NULL, extra = NULL
  WHERE (identity IS NOT NULL OR extra IS NOT NULL) AND (id = :id OR investor_id = :id)`;
const recordsOf = `
  SELECT id FROM investment_rows WHERE investor_id = :id
  UNION SELECT id FROM history_rows WHERE investor_id = :id
  UNION SELECT id FROM staged_rows WHERE investor_id = :id`;
const blankQuarantine = `
  UPDATE quarantine_rows SET body = NULL WHERE body IS NOT NULL AND (id = :id OR instr(body, :id) > 0)`;
const blankInbox = `
  UPDATE webhook_inbox SET body = NULL WHERE body IS NOT NULL AND (investment = :id OR instr(body, :id) > 0)`;

const selectRequests = `
  SELECT id, max(invisible_at) AS at FROM erasures WHERE cause = 'forget' AND id IS NOT NULL GROUP BY id`;

interface PendingRow {
  readonly receipts: number;
  readonly since: Instant | null;
  readonly residue: number;
  readonly listing: number;
}

const selectPending = `
  SELECT (SELECT count(*) FROM erasures WHERE scrubbed_at IS NULL) AS receipts,
         (SELECT min(invisible_at) FROM erasures WHERE scrubbed_at IS NULL) AS since,
         (SELECT count(*) FROM identity_residue) AS residue,
         (SELECT count(*) FROM sources WHERE state IN ('listing', 'relisting')) AS listing`;
