import type { Config } from '../config/config.js';
import { Fault } from '../domain/fault.js';
import { type InvestmentId, parseId, type UserId } from '../domain/ids.js';
import type { Instant } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import { packageVersion } from '../runtime/package-version.js';
import { removeBackups } from '../store/dialect/sqlite/backups.js';
import { SqliteErasures } from '../store/dialect/sqlite/erasures.js';
import { migrateSqlite } from '../store/dialect/sqlite/migrate.js';
import { openSqlite, type SqliteDatabase } from '../store/dialect/sqlite/open.js';
import { scrubApart } from '../store/scrub.js';

export interface ForgetReceipt {
  readonly id: string;
  /** Investments whose identity was held and is gone. */
  readonly identities: number;
  /** It was to stay forgotten before already. */
  readonly already: boolean;
  readonly invisible_at: Instant;
  /** `scrubbed`: no byte is left in the files of the database. The others: a running daemon finishes it. */
  readonly bytes: 'scrubbed' | 'blocked' | 'no_room';
  readonly pending: number;
  readonly pending_since: Instant | null;
  /** Copies made before a schema migration, removed because they held everybody's identity. */
  readonly backups_removed: readonly string[];
}

/** Throws `usage` for what is no id. */
export function personOrInvestment(text: string): InvestmentId | UserId {
  const id = parseId('investment', text) ?? parseId('user', text);
  if (id !== undefined) return id;
  throw new Fault('usage', `${JSON.stringify(text.slice(0, 60))} is neither an investment nor an investor`, {
    hint: 'give an id: inv_… for one investment, usr_… for everything of an investor',
  });
}

/**
 * Works beside a running daemon and without one. Erased from sight first, in one transaction that also keeps the
 * platform from bringing the identity back; from the bytes right after, unless a reader is in the way.
 */
export async function forget(
  { database }: Config,
  id: InvestmentId | UserId,
  clock: Clock,
  signal: AbortSignal,
): Promise<ForgetReceipt> {
  return withErasures(database.file, clock, async (erasures) => {
    const { identities, already, invisibleAt } = erasures.forget(id);
    const backups = removeBackups(database.file, Number.POSITIVE_INFINITY);
    const scrubbed = await scrubApart({ file: database.file, now: clock.now(), rewritten: 0 }, signal);
    const { receipts, since } = erasures.pending();
    return {
      ...{ id, identities, already, invisible_at: invisibleAt },
      bytes: scrubbed.kind === 'clean' ? 'scrubbed' : scrubbed.kind,
      ...{ pending: receipts, pending_since: since, backups_removed: backups },
    };
  });
}

/** Lets identity of the id be stored again; false when it was not forgotten. */
export function liftForgotten(
  { database }: Config,
  id: InvestmentId | UserId,
  clock: Clock,
): Promise<boolean> {
  return withErasures(database.file, clock, async (erasures) => erasures.lift(id));
}

async function withErasures<Result>(
  file: string,
  clock: Clock,
  work: (erasures: SqliteErasures, database: SqliteDatabase) => Promise<Result>,
): Promise<Result> {
  // Opening to read first: a command that erases does not create what it should look into.
  openSqlite(file, { readonly: true }).close();
  const database = openSqlite(file);
  try {
    migrateSqlite(database, { clock, version: packageVersion() });
    return await work(new SqliteErasures(database, clock), database);
  } finally {
    database.close();
  }
}
