import type { SourceName } from '../domain/ids.js';
import type { TickResult } from '../sync/run-tick.js';
import type { ManualAsk } from '../sync/source-loop.js';
import { type EngineParts, startEngine } from './engine.js';

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
    return await Promise.all(
      sources.map(async ({ name }) => ({ source: name, ...(await engine.sync.tick(name, ask)) })),
    );
  } finally {
    signal.removeEventListener('abort', stop);
    await engine.close();
  }
}
