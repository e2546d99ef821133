import { type Engine, type EngineParts, startEngine } from '../daemon/engine.js';
import { choresOf } from '../daemon/maintenance.js';
import { noticeTargets } from '../daemon/notices.js';
import type { SourceResult } from '../daemon/source-result.js';
import { deliverDue } from '../outbox/deliver.js';
import { statusOf } from '../reading/status.js';
import type { ManualAsk } from '../sync/source-loop.js';
import { scrubOnce } from './scrub-once.js';

export interface SyncedOnce extends SourceResult {
  /** Records of it in quarantine now, whenever they were set aside. */
  readonly quarantineOpen: number;
  /** Rows of it that await deletion now: a person has to accept it. */
  readonly awaitingDeletion: number;
  /** What stands in the way of complete names, in words; null when nothing does. */
  readonly namesNote: string | null;
}

/** One tick of each source, side by side as far as the configuration allows; ends when the last one has. */
export async function syncOnce(
  parts: EngineParts,
  ask: ManualAsk,
  signal: AbortSignal,
): Promise<readonly SyncedOnce[]> {
  const engine = await startEngine(parts);
  const stop = () => {
    // Ticks under way end with the page they write; their results still arrive below.
    void engine.sync.close();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const sources = parts.sources ?? parts.config.sources;
    const ticks = sources.map(async ({ name }) => ({ source: name, ...(await engine.sync.tick(name, ask)) }));
    // Asked while the mirror was being opened: the ticks end before their first page.
    if (signal.aborted) stop();
    const results = await Promise.all(ticks);
    await tellOnce(parts, engine, signal);
    // Whoever holds a source keeps house as well, and two that rewrite the file would only be in each other's way.
    if (results.every(({ report }) => report.code !== 'lease_lost')) {
      const { clock, logger } = parts;
      const { pending, scrubAlone: scrub } = choresOf(parts.config, engine.mirror);
      await scrubOnce({ pending, scrub, clock, logger: logger.child({ component: 'erasure' }) }, signal);
    }
    const { sources: standing } = await statusOf(parts.config.database, parts.clock);
    return results.map((result) => {
      const now = standing.find(({ source }) => source === result.source);
      return {
        ...result,
        quarantineOpen: now?.quarantine_open ?? 0,
        awaitingDeletion: now?.awaiting_deletion ?? 0,
        namesNote: now?.names_note ?? null,
      };
    });
  } finally {
    signal.removeEventListener('abort', stop);
    await engine.close();
  }
}

/** What a run from a timetable queued is sent before it ends; what is not taken waits for the next run. */
async function tellOnce(parts: EngineParts, { mirror }: Engine, signal: AbortSignal): Promise<void> {
  const { config, clock, random, logger } = parts;
  if (config.notices.length === 0) return;
  const { targets, close } = noticeTargets(config, clock);
  try {
    await deliverDue({ outbox: mirror.outbox, targets, clock, random, logger }, signal);
  } finally {
    await close();
  }
}
