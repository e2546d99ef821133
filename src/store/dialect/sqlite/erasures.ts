import type { InvestmentId, UserId } from '../../../domain/ids.js';
import { instantFromMillis } from '../../../domain/instant.js';
import type { Clock } from '../../../runtime/clock.js';
import type { Erasures, Forgotten, Scrubbed } from '../../erasures.js';
import { withSqliteFaults } from './faults.js';
import type { SqliteDatabase } from './open.js';
import { inTransaction } from './transaction.js';

/** Needs the connection that writes. Throws `database_busy`, `database_full`, `database_unusable`. */
export class SqliteErasures implements Erasures {
  /** Erasures up to this one are out of the main file already, and only the log beside it still has to go. */
  #rewrittenThrough = 0;

  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
  ) {}

  forget(id: InvestmentId | UserId): Forgotten {
    const { raw, file } = this.database;
    return withSqliteFaults(file, () =>
      inTransaction(raw, () => {
        const at = instantFromMillis(this.clock.now());
        const waiting = raw.prepare('SELECT 1 FROM identity_residue').get() !== undefined;
        const fresh = raw
          .prepare('INSERT INTO forgotten (id, forgotten_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING')
          .run(id, at);
        const identities = raw.prepare(deleteIdentities).run({ id }).changes;
        raw.prepare(blankStaged).run({ id });
        // Bodies are as they were sent; whichever names the id, or a record of the investor, goes.
        for (const own of [id, ...raw.prepare<[{ id: string }], string>(recordsOf).pluck().all({ id })]) {
          raw.prepare(blankQuarantine).run({ id: own });
          raw.prepare(blankInbox).run({ id: own });
        }
        raw.prepare("INSERT INTO erasures (id, cause, invisible_at) VALUES (?, 'forget', ?)").run(id, at);
        // What the triggers left is covered by the receipt above, unless something else waited before.
        if (!waiting) raw.exec('DELETE FROM identity_residue');
        return { identities, already: fresh.changes === 0 };
      }),
    );
  }

  lift(id: InvestmentId | UserId): boolean {
    const { raw, file } = this.database;
    return withSqliteFaults(
      file,
      () => raw.prepare('DELETE FROM forgotten WHERE id = ?').run(id).changes > 0,
    );
  }

  /**
   * Rewrites the file without its free pages (VACUUM: `secure_delete` alone leaves bytes in the gaps of used
   * pages), then empties the log. The log is emptied once before as well: if a reader makes that impossible,
   * rewriting now would only put a whole copy of the database into a log that cannot shrink.
   */
  scrub(): Scrubbed {
    const { raw, file } = this.database;
    return withSqliteFaults(file, () =>
      withoutWaiting(raw, () => {
        try {
          return this.#scrub();
        } catch (error) {
          if (isBusy(error)) return { kind: 'blocked', erasures: this.#pending() };
          throw error;
        }
      }),
    );
  }

  #scrub(): Scrubbed {
    const { raw } = this.database;
    const last = this.#takePending();
    if (last === null) return { kind: 'clean' };
    if (!emptyLog(raw)) return { kind: 'blocked', erasures: this.#pending() };
    if (this.#rewrittenThrough < last) {
      raw.exec('VACUUM');
      this.#rewrittenThrough = last;
      if (!emptyLog(raw)) return { kind: 'blocked', erasures: this.#pending() };
    }
    const done = raw
      .prepare('UPDATE erasures SET scrubbed_at = ? WHERE scrubbed_at IS NULL AND erasure <= ?')
      .run(instantFromMillis(this.clock.now()), last);
    return { kind: 'scrubbed', erasures: done.changes };
  }

  /** Turns the mark left by the triggers into a receipt, so that a removal after this moment leaves a new one. */
  #takePending(): number | null {
    const { raw } = this.database;
    return inTransaction(raw, () => {
      if (raw.prepare('DELETE FROM identity_residue').run().changes > 0)
        raw
          .prepare("INSERT INTO erasures (cause, invisible_at) VALUES ('removed', ?)")
          .run(instantFromMillis(this.clock.now()));
      return raw
        .prepare<[], number | null>('SELECT max(erasure) FROM erasures WHERE scrubbed_at IS NULL')
        .pluck()
        .get() as number | null;
    });
  }

  #pending(): number {
    return this.database.raw
      .prepare<[], number>(
        `SELECT (SELECT count(*) FROM erasures WHERE scrubbed_at IS NULL) + (SELECT count(*) FROM identity_residue)`,
      )
      .pluck()
      .get() as number;
  }
}

const deleteIdentities = `
  DELETE FROM identity_rows WHERE row_no IN
    (SELECT row_no FROM investment_rows WHERE id = :id UNION SELECT row_no FROM investment_rows WHERE investor_id = :id)`;
const blankStaged = `
  UPDATE staged_rows SET identity = NULL
  WHERE identity IS NOT NULL AND (id = :id OR investor_id = :id)`;
const recordsOf = `
  SELECT id FROM investment_rows WHERE investor_id = :id
  UNION SELECT id FROM history_rows WHERE investor_id = :id
  UNION SELECT id FROM staged_rows WHERE investor_id = :id`;
const blankQuarantine = `
  UPDATE quarantine_rows SET body = NULL WHERE body IS NOT NULL AND (id = :id OR instr(body, :id) > 0)`;
const blankInbox = `
  UPDATE webhook_inbox SET body = NULL WHERE body IS NOT NULL AND (investment = :id OR instr(body, :id) > 0)`;

function withoutWaiting<Result>(raw: SqliteDatabase['raw'], work: () => Result): Result {
  const timeout = raw.pragma('busy_timeout', { simple: true });
  raw.pragma('busy_timeout = 0');
  try {
    return work();
  } finally {
    raw.pragma(`busy_timeout = ${timeout}`);
  }
}

/** Moves the log into the file and cuts it to nothing; false when a reader still needs it. */
function emptyLog(raw: SqliteDatabase['raw']): boolean {
  const [result] = raw.pragma('wal_checkpoint(TRUNCATE)') as readonly { busy: number }[];
  return result?.busy === 0;
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY');
}
