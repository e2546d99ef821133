import type { SourceName } from '../domain/ids.js';
import { deliverDue } from '../outbox/deliver.js';
import type { TickResult } from '../sync/run-tick.js';
import type { ManualAsk } from '../sync/source-loop.js';
import { type Engine, type EngineParts, startEngine } from './engine.js';
import { noticeTargets } from './notices.js';

export interface SourceResult extends TickResult {
  readonly source: SourceName;
}

/** One tick of each source, side by side as far as the configuration allows; ends when the last one has. */
export async function syncOnce(
  parts: EngineParts,
  ask: ManualAsk,
  signal: AbortSignal,
): Promise<readonly SourceResult[]> {
  const engine = await startEngine(parts);
  const stop = () => {
    // Ticks under way end with the page they write; their results still arrive below.
    void engine.sync.close();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    const sources = parts.sources ?? parts.config.sources;
    const results = await Promise.all(
      sources.map(async ({ name }) => ({ source: name, ...(await engine.sync.tick(name, ask)) })),
    );
    await tellOnce(parts, engine, signal);
    return results;
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
