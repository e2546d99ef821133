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
import { IdentityEraser, markReceipted } from './identity-eraser.js';
import { lockAllSources } from './locked-source.js';
import type { PostgresDatabase } from './open.js';
import { numbered } from './placeholders.js';
import { scrub } from './scrub.js';
import { inTransaction, type Transaction } from './transaction.js';
import { stripUnknownKeys } from './unknown-keys.js';

/**
 * Erases people on PostgreSQL. One transaction removes them from every table, while no page of any source is written.
 * `scrub` then removes the bytes from the tables' files. Throws `database_busy`, `database_full`, `database_unusable`.
 */
export class PostgresErasures implements Erasures {
  constructor(
    private readonly database: PostgresDatabase,
    private readonly clock: Clock,
  ) {}

  async forget(id: PersonOrInvestment, writeDown: WriteDown = () => {}): Promise<Forgotten> {
    return this.#withAllSources(async (transaction, at) => {
      const before = await transaction.row<Pick<ForgottenSince, 'at'>>(
        'SELECT forgotten_at AS at FROM forgotten WHERE id = $1',
        id,
      );
      if (before === undefined && !(await isKnown(transaction, id)))
        throw new Fault('usage', `${id} is neither an investment nor an investor of this mirror`, {
          hint: 'Look it up: rosterd query "SELECT id, investor_id FROM investments". Ids are case-sensitive.',
        });
      remember(transaction, { id, at });
      const identities = await erase(transaction, id, at);
      const invisibleAt = identities === 0 ? (before?.at ?? at) : at;
      const forgotten = { identities, already: before !== undefined, invisibleAt };
      writeDown({ id, at }, forgotten);
      return forgotten;
    });
  }

  async forgotten(): Promise<readonly ForgottenSince[]> {
    return inTransaction(this.database, (transaction) =>
      transaction.rows<ForgottenSince>('SELECT id, forgotten_at AS at FROM forgotten'),
    );
  }

  async requests(): Promise<ReadonlyMap<PersonOrInvestment, Instant>> {
    const rows = await inTransaction(this.database, (transaction) =>
      transaction.rows<{ id: PersonOrInvestment; at: Instant }>(selectRequests),
    );
    return new Map(rows.map(({ id, at }) => [id, at]));
  }

  async recall(people: readonly ForgottenSince[]): Promise<number> {
    return this.#withAllSources((transaction, at) => recallIn(transaction, people, at));
  }

  async lift(id: PersonOrInvestment): Promise<boolean> {
    return inTransaction(
      this.database,
      async (transaction) => (await transaction.run('DELETE FROM forgotten WHERE id = $1', id)) > 0,
    );
  }

  /** Implements `"identity": "drop"`: erases every stored identity. Returns the number of receipts it wrote. */
  async dropAll(): Promise<number> {
    return this.#withAllSources(async (transaction, at) => {
      const erased = await dropIn(transaction, at);
      transaction.send(
        `UPDATE sources SET identity_included = NULL, names_from_generation = generation + 1
         WHERE identity_included IS NOT NULL`,
      );
      return erased;
    });
  }

  /** Implements `"identity": "drop"` of follow rules. */
  async dropFollowed(rules: readonly string[]): Promise<number> {
    // Nearly every start: a publication of another host would keep the lock for longer than a start waits for it.
    const withNames = await inTransaction(this.database, (transaction) =>
      sourcesWithNames(transaction, rules),
    );
    if (withNames.length === 0) return 0;
    return this.#withAllSources((transaction, at) => dropFollowedIn(transaction, rules, at));
  }

  /** Rewrites the tables whose files may still contain erased bytes. */
  scrub(): Promise<Scrubbed> {
    return scrub(this.database, this.clock);
  }

  /** Returns the erasures that still wait for a scrub. */
  async pending(): Promise<PendingErasures> {
    const row = await inTransaction(this.database, (transaction) =>
      transaction.row<{ receipts: number; since: Instant | null; residue: number; listing: number }>(
        `SELECT (SELECT count(*) FROM erasures WHERE scrubbed_at IS NULL) AS receipts,
                (SELECT min(invisible_at) FROM erasures WHERE scrubbed_at IS NULL) AS since,
                (SELECT count(*) FROM identity_residue) AS residue,
                (SELECT count(*) FROM sources WHERE state IN ('listing', 'relisting')) AS listing`,
      ),
    );
    if (row === undefined) throw new Error('a query without FROM returned no row');
    return { ...row, residue: row.residue > 0, listing: row.listing > 0 };
  }

  /** Locks all sources first: a page written at the same time could store a person whom this erases. */
  #withAllSources<Result>(work: (transaction: Transaction, at: Instant) => Promise<Result>): Promise<Result> {
    return inTransaction(this.database, async (transaction) => {
      await lockAllSources(transaction);
      return work(transaction, instantFromMillis(this.clock.now()));
    });
  }
}

/** `Erasures.recall` in the caller's transaction, which must keep pages of every source from being written. */
export async function recallIn(
  transaction: Transaction,
  people: readonly ForgottenSince[],
  at: Instant,
): Promise<number> {
  let found = 0;
  for (const person of people) {
    remember(transaction, person);
    if (!(await isKnown(transaction, person.id))) continue;
    await erase(transaction, person.id, at);
    found += 1;
  }
  return found;
}

/** Erases all identities in the caller's transaction. Returns the number of receipts. */
export async function dropIn(transaction: Transaction, at: Instant): Promise<number> {
  let erased = 0;
  for (const { no } of await transaction.rows<{ no: number }>('SELECT no FROM sources ORDER BY no'))
    erased += await dropOf(transaction, no, at);
  return erased;
}

/** Erases the identities of the sources of these rules in the caller's transaction. Returns the number of receipts. */
export async function dropFollowedIn(
  transaction: Transaction,
  rules: readonly string[],
  at: Instant,
): Promise<number> {
  let erased = 0;
  for (const no of await sourcesWithNames(transaction, rules)) {
    erased += await dropOf(transaction, no, at);
    transaction.send(numbered(noteDropped), no);
  }
  return erased;
}

async function sourcesWithNames(
  transaction: Transaction,
  rules: readonly string[],
): Promise<readonly number[]> {
  const found: number[] = [];
  for (const rule of rules)
    for (const { no } of await transaction.rows<{ no: number }>(numbered(followedWithNames), rule))
      found.push(no);
  return found;
}

async function dropOf(transaction: Transaction, no: number, at: Instant): Promise<number> {
  const erasing = new IdentityEraser(transaction, no, at);
  await erasing.source('dropped');
  return await erasing.finish();
}

function remember(transaction: Transaction, { id, at }: ForgottenSince): void {
  transaction.send(
    'INSERT INTO forgotten (id, forgotten_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING',
    ...[id, at],
  );
}

async function isKnown(transaction: Transaction, id: PersonOrInvestment): Promise<boolean> {
  return (await transaction.rows(anyMention, id)).length > 0;
}

/** Returns the number of identities erased. */
async function erase(transaction: Transaction, id: PersonOrInvestment, at: Instant): Promise<number> {
  const identities = await transaction.run(deleteIdentities, id);
  for (const sql of blankUnknown) transaction.send(sql, id);
  transaction.send(blankStaged, id);
  // Bodies are stored as received, so every body is erased that names the id or a record of the investor.
  const records = await transaction.rows<{ id: string }>(recordsOf, id);
  const own = [id, ...records.map((record) => record.id)];
  transaction.send(blankQuarantine, own);
  transaction.send(blankInbox, own);
  transaction.send("INSERT INTO erasures (id, cause, invisible_at) VALUES ($1, 'forget', $2)", id, at);
  transaction.send(markReceipted);
  return identities;
}

const selectRequests = `
  SELECT id, max(invisible_at) AS at FROM erasures WHERE cause = 'forget' AND id IS NOT NULL GROUP BY id`;

const anyMention = `
  SELECT 1 FROM investment_rows WHERE id = $1 OR investor_id = $1
  UNION ALL SELECT 1 FROM history_rows WHERE id = $1 OR investor_id = $1
  UNION ALL SELECT 1 FROM staged_rows WHERE id = $1 OR investor_id = $1
  UNION ALL SELECT 1 FROM quarantine_rows WHERE id = $1 OR strpos(body, $1) > 0
  LIMIT 1`;

const deleteIdentities = `
  DELETE FROM identity_rows WHERE row_no IN
    (SELECT row_no FROM investment_rows WHERE id = $1 UNION SELECT row_no FROM investment_rows WHERE investor_id = $1)`;

/** Unknown fields may contain personal data: erased from current rows and from every superseded version. */
const historyOf =
  '(id = $1 OR investor_id = $1 OR id IN (SELECT id FROM investment_rows WHERE investor_id = $1))';

const blankUnknown = [
  stripUnknownKeys('history_rows', historyOf),
  ...['investment_rows', 'staged_rows'].map((table) =>
    stripUnknownKeys(table, 'id = $1 OR investor_id = $1'),
  ),
  `UPDATE history_rows SET extra = NULL WHERE extra IS NOT NULL AND ${historyOf}`,
  'UPDATE investment_rows SET extra = NULL WHERE extra IS NOT NULL AND (id = $1 OR investor_id = $1)',
];

const blankStaged = `
  UPDATE staged_rows SET identity = NULL, extra = NULL
  WHERE (identity IS NOT NULL OR extra IS NOT NULL) AND (id = $1 OR investor_id = $1)`;

const recordsOf = `
  SELECT id FROM investment_rows WHERE investor_id = $1
  UNION SELECT id FROM history_rows WHERE investor_id = $1
  UNION SELECT id FROM staged_rows WHERE investor_id = $1`;

const naming = (column: string) =>
  `(${column} = ANY($1::text[]) OR EXISTS (SELECT 1 FROM unnest($1::text[]) AS own WHERE strpos(body, own) > 0))`;

const blankQuarantine = `UPDATE quarantine_rows SET body = NULL WHERE body IS NOT NULL AND ${naming('id')}`;
const blankInbox = `UPDATE webhook_inbox SET body = NULL WHERE body IS NOT NULL AND ${naming('investment')}`;
