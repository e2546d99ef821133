import { closeSync, fstatSync, fsyncSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from '../domain/fault.js';
import { parseId } from '../domain/ids.js';
import { type Instant, parseInstant } from '../domain/instant.js';
import type { Erasures, PersonOrInvestment } from '../store/erasures.js';

/**
 * Who is to stay forgotten, kept apart from the database, because an old copy of the database knows nothing of it:
 * restored, it would bring people back and keep them, since the platform does not say a second time what it has
 * not changed. Ids and times, a line each, only ever added to.
 */
export class ForgottenLedger {
  constructor(readonly file: string) {}

  /** The last word about each id. Throws `usage` for a file that cannot be read as one of ours. */
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

  /** On disk when it returns. */
  add(entries: readonly LedgerEntry[]): void {
    if (entries.length === 0) return;
    const lines = entries.map(({ id, event, at }) => `${JSON.stringify({ id, event, at })}\n`).join('');
    try {
      mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 });
      const file = openSync(this.file, 'a+', 0o600);
      try {
        // A line that a power cut left unfinished is closed first, or ours would become part of it.
        const unfinished = fstatSync(file).size > 0 && !textOf(this.file).endsWith('\n');
        // Not one write: a disk that fills up takes the first half of it, and says so only when asked for the rest.
        writeFileSync(file, unfinished ? `\n${lines}` : lines);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
      syncFolder(dirname(this.file));
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      throw new Fault('usage', `${this.file} cannot be written (${codeOf(cause)})`, {
        hint: 'it keeps who is forgotten apart from the database: check its folder, or set forget.ledger',
        cause,
      });
    }
  }
}

export interface LedgerEntry {
  readonly id: PersonOrInvestment;
  readonly event: 'forgotten' | 'lifted';
  readonly at: Instant;
}

/**
 * Brings database and ledger to the same state, before anything else is done with either. What the database lacks
 * was forgotten after it was copied; what the ledger lacks was forgotten before there was one, or by another user
 * of it. Answers how many people a copy had brought back.
 */
export async function agreeOnForgotten(
  ledger: ForgottenLedger,
  erasures: Pick<Erasures, 'forgotten' | 'recall' | 'lift'>,
): Promise<number> {
  const told = ledger.read();
  const held = new Map((await erasures.forgotten()).map(({ id, at }) => [id, at]));
  for (const [id, { event, at }] of told) {
    const since = held.get(id);
    if (event === 'lifted' && since !== undefined && since <= at) {
      await erasures.lift(id);
      held.delete(id);
    }
  }
  ledger.add(
    [...held].flatMap(([id, at]) =>
      told.get(id)?.event === 'forgotten' ? [] : [{ id, event: 'forgotten', at } as const],
    ),
  );
  const missing = [...told.values()].filter(({ id, event }) => event === 'forgotten' && !held.has(id));
  return missing.length === 0 ? 0 : await erasures.recall(missing);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw unreadable(file, codeOf(error), error);
  }
}

/** Null for what says nothing: an empty line, or one that was cut off while it was written. */
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
  return new Fault('usage', `${file} cannot be read: ${why}`, {
    hint: 'it says who must stay forgotten: mend or restore it; without it nobody new is known to be',
    cause,
  });
}

/** A file just created is in its folder, and only there until the folder is synced too. */
function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? 'unknown reason';
