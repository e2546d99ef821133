import { closeSync, fstatSync, fsyncSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import { parseId } from '../domain/ids.js';
import { type Instant, parseInstant } from '../domain/instant.js';
import { withoutByteOrderMark } from '../domain/text.js';
import { makeOwnedFolder, openOwned } from '../runtime/file-owner.js';
import { syncFolderNow } from '../runtime/sync-file.js';
import { passingUnwritable } from '../runtime/unwritable.js';
import type { Erasures, PersonOrInvestment } from '../store/erasures.js';

/**
 * The ids that must stay forgotten, stored outside the database. A restored backup of the database does not contain
 * later erasures: it would bring people back and keep them, because the platform does not resend unchanged records.
 * The file is append-only, with an id, an event and a time on each line.
 */
export class ForgottenLedger {
  constructor(readonly file: string) {}

  /** Returns the last entry of each id. Throws `usage` for a file that cannot be read or parsed. */
  read(): ReadonlyMap<PersonOrInvestment, LedgerEntry> {
    const entries = new Map<PersonOrInvestment, LedgerEntry>();
    textOf(this.file)
      .split('\n')
      .forEach((line, index) => {
        const entry = entryIn(line);
        if (entry === undefined) throw unreadable(this.file, `line ${index + 1} is damaged`);
        if (entry !== null) entries.set(entry.id, entry);
      });
    return entries;
  }

  /** Appends entries and syncs the file. Throws `usage` when it cannot be written. */
  add(entries: readonly LedgerEntry[]): void {
    if (entries.length === 0) return;
    const lines = entries.map(({ id, event, at }) => `${JSON.stringify({ id, event, at })}\n`).join('');
    try {
      makeOwnedFolder(dirname(this.file));
      const file = openOwned(this.file);
      try {
        // A power cut may have left an unfinished line. It is ended first, or the new line would become part of it.
        const unfinished = fstatSync(file).size > 0 && !textOf(this.file).endsWith('\n');
        // `writeFileSync` writes the rest after a short write; a full disk reports an error only then.
        writeFileSync(file, unfinished ? `\n${lines}` : lines);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      // The directory entry of a new file is durable only after the folder is synced.
      syncFolderNow(dirname(this.file));
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      const hint =
        'it keeps who is forgotten apart from the database: check its folder, or set forget.ledger';
      throw (
        passingUnwritable(this.file, cause) ??
        new Fault('usage', `${this.file} cannot be written (${codeOf(cause)})`, { hint, cause })
      );
    }
  }
}

export interface LedgerEntry {
  readonly id: PersonOrInvestment;
  readonly event: 'forgotten' | 'lifted';
  /** The time of the request to forget. Earlier versions wrote the time of the lift. */
  readonly at: Instant;
}

/**
 * Brings database and ledger to the same state, before anything else uses either. An id missing from the database was
 * lifted by another host if the database has the receipt of its request, and otherwise forgotten after the copy was made.
 * An id missing from the ledger was forgotten before the ledger existed, or by another user of the database. Returns the
 * number of records that a restored copy had brought back.
 */
export async function agreeOnForgotten(
  ledger: ForgottenLedger,
  erasures: Pick<Erasures, 'forgotten' | 'requests' | 'recall' | 'lift'>,
): Promise<number> {
  const entries = ledger.read();
  const stored = new Map((await erasures.forgotten()).map(({ id, at }) => [id, at]));
  for (const [id, { event, at }] of entries) {
    const since = stored.get(id);
    if (event === 'lifted' && since !== undefined && since <= at) {
      await erasures.lift(id);
      stored.delete(id);
    }
  }
  ledger.add(
    [...stored].flatMap(([id, at]) =>
      entries.get(id)?.event === 'forgotten' ? [] : [{ id, event: 'forgotten', at } as const],
    ),
  );
  const missing = [...entries.values()].filter(({ id, event }) => event === 'forgotten' && !stored.has(id));
  if (missing.length === 0) return 0;
  const requests = await erasures.requests();
  const isLifted = ({ id, at }: LedgerEntry) => (requests.get(id) ?? '') >= at;
  ledger.add(
    missing
      .filter(isLifted)
      .map(({ id, at }) => ({ id, event: 'lifted', at: requests.get(id) ?? at }) as const),
  );
  const unknown = missing.filter((entry) => !isLifted(entry));
  return unknown.length === 0 ? 0 : await erasures.recall(unknown);
}

function textOf(file: string): string {
  try {
    return withoutByteOrderMark(readFileSync(file, 'utf8'));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return '';
    throw unreadable(file, code, error);
  }
}

/** Returns null for an empty line or one cut off by a crash, and undefined for a damaged one. */
function entryIn(line: string): LedgerEntry | null | undefined {
  if (!line.trim().endsWith('}')) return line.includes('}') ? undefined : null;
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { id, event, at } = value as Partial<Record<keyof LedgerEntry, unknown>>;
  const known = parseId('investment', id) ?? parseId('user', id);
  const time = parseInstant(at);
  if (known === undefined || time === undefined) return undefined;
  return event === 'forgotten' || event === 'lifted' ? { id: known, event, at: time } : undefined;
}

function unreadable(file: string, why: string, cause?: unknown): Fault {
  const what = 'it lists who must stay forgotten';
  return new Fault('usage', `${file} cannot be read: ${why}`, {
    hint:
      why === 'EACCES'
        ? `${what}: give it to the user that runs rosterd, with chown`
        : `${what}: repair it, or restore it from a backup`,
    cause,
  });
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown reason';
