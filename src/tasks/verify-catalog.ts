import type { Config } from '../config/config.js';
import type { Engine } from '../daemon/engine.js';
import { Fault, isFault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { newestChange } from '../store/reads/changes.js';
import { readMirror } from '../store/reads/read-mirror.js';
import { isCatalogUnchangedSince } from '../store/reads/verify-reads.js';
import type { Drift, SourceReceipt } from '../verify/receipt.js';
import { settle } from '../verify/settle.js';

export interface CatalogParts {
  readonly source: SourceName;
  readonly dimensions: NonNullable<Engine['dimensions']>;
  readonly database: Config['database'];
  readonly pause: () => Promise<void>;
  readonly signal: AbortSignal;
}

export type WithCatalog = SourceReceipt & {
  /** Companies, rounds and posts compared; null when that was not reached. */
  readonly catalog: number | null;
};

/**
 * Adds the differences of companies, rounds and posts to a receipt. They have no feed to catch up with: what is older
 * than the interval is listed before, and after a difference also what an event announced meanwhile, here or in a
 * daemon. A difference that such a listing may explain is compared again, as those of investments are.
 */
export async function withCatalog(receipt: SourceReceipt, parts: CatalogParts): Promise<WithCatalog> {
  const { source, dimensions, database, pause, signal } = parts;
  const drift: Drift[] = [];
  const unsettled: string[] = [];
  let catalog = 0;
  const list = async () => {
    if (signal.aborted) throw new Fault('stopped', 'stopped by a signal');
    await dimensions.refresh(source, false);
    return null;
  };
  try {
    await list();
    await readMirror(database, (db) =>
      settle(
        {
          stored: {
            mark: () => newestChange(db),
            isUnchangedSince: (mark) => isCatalogUnchangedSince(db, source, mark),
          },
          catchUp: list,
          pause,
          found: (part) => {
            if (part.settled) drift.push(...part.drift);
            else unsettled.push(...part.drift.flatMap((one) => ('id' in one ? [one.id] : [])));
          },
        },
        async () => {
          const { compared, differences, listedAt, dueAt } = await dimensions.compare(source);
          catalog = compared;
          return differences.map(({ kind, id, columns, collection }) => {
            const listed = { listed_at: listedAt.get(collection) ?? null, due_at: dueAt };
            return kind === 'record'
              ? { kind, id, columns, amounts: [], ...listed }
              : { kind, id, ...listed };
          });
        },
      ),
    );
  } catch (error) {
    if (!isFault(error)) throw error;
    const { code, message, about } = error;
    const ended = { code, message, hint: about.hint ?? null, retry_at: about.retryAt ?? null };
    const outcome = code === 'stopped' || code === 'rate_limited' ? 'unfinished' : 'failed';
    return { ...receipt, outcome: receipt.drift.length > 0 ? 'drift' : outcome, ended, catalog: null };
  }
  return {
    ...receipt,
    outcome: outcomeWith(receipt.outcome, drift, unsettled),
    drift: [...receipt.drift, ...drift],
    unsettled: [...receipt.unsettled, ...unsettled],
    catalog,
  };
}

function outcomeWith(
  outcome: SourceReceipt['outcome'],
  drift: readonly Drift[],
  unsettled: readonly string[],
): SourceReceipt['outcome'] {
  if (outcome === 'drift' || drift.length > 0) return 'drift';
  return unsettled.length > 0 ? 'unsettled' : outcome;
}
