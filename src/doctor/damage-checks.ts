import { isFault } from '../domain/fault.js';
import { shellWord } from '../domain/shell-word.js';
import type { Clock } from '../runtime/clock.js';
import { strayTotalsSql } from '../store/dialect/sqlite/kept-totals.js';
import { runQuery } from '../store/reads/query.js';
import { type Check, fail, failedBy, pass, skip, warn } from './check.js';

/* Checks of the file's content. Each reads much of the file, and gives up after a timeout. */

const lookMillis = 10_000;

/** Compares the totals with the rows. Triggers maintain them; a program other than rosterd may have bypassed those. */
export async function totalsCheck(file: string, clock: Clock, signal: AbortSignal): Promise<Check> {
  const name = 'database.totals';
  const found = await lookFor(strayTotalsSql, file, clock, signal);
  if ('error' in found) return failedBy(name, found.error, lost(file));
  if (found.lines === null) return skip(name, `not added up within ${lookMillis / 1000} s`);
  return found.lines.length === 0
    ? pass(name, 'totals of rounds, days and investors are what the rows add up to')
    : fail(
        name,
        `totals are not what the rows add up to: ${found.lines.join(', ')}`,
        'rosterd sync --resync',
      );
}

export async function integrityCheck(file: string, clock: Clock, signal: AbortSignal): Promise<Check> {
  const name = 'database.integrity';
  const found = await lookFor('PRAGMA quick_check(3)', file, clock, signal);
  if ('error' in found) return failedBy(name, found.error, lost(file));
  if (found.lines === null)
    return warn(
      name,
      `not done within ${lookMillis / 1000} s`,
      `sqlite3 ${shellWord(file)} 'PRAGMA quick_check'`,
    );
  return found.lines[0] === 'ok'
    ? pass(name, 'the quick check of SQLite finds nothing')
    : fail(name, `the file is damaged: ${found.lines.length} findings`, lost(file));
}

/** The advice for a damaged file: the platform's records can be listed again. */
export const lost = (file: string) => `move ${file} aside, keep it, then: rosterd sync`;

/**
 * Runs the query in a child process: SQLite blocks until it is done, but a process can be killed. `lines` is null after
 * the timeout.
 */
async function lookFor(
  sql: string,
  file: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ readonly lines: readonly string[] | null } | { readonly error: unknown }> {
  const begun = clock.monotonic();
  try {
    const limits = { timeoutMs: lookMillis, rowsMax: 3 };
    const query = await runQuery({ kind: 'sqlite', file }, sql, limits, clock, signal);
    const lines: string[] = [];
    for await (const [line] of query.rows) lines.push(String(line));
    return { lines };
  } catch (error) {
    if (isFault(error, 'usage') && clock.monotonic() - begun >= lookMillis) return { lines: null };
    return { error };
  }
}
