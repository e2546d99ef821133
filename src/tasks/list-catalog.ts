import type { Engine } from '../daemon/engine.js';
import type { SourceName } from '../domain/ids.js';

/** Lists companies and rounds that are due, after a complete tick: investments come first. */
export async function listCatalog(
  { dimensions }: Pick<Engine, 'dimensions'>,
  sources: readonly SourceName[],
  forced: boolean,
  signal: AbortSignal,
): Promise<void> {
  if (dimensions === null) return;
  const stop = () => void dimensions.close();
  signal.addEventListener('abort', stop, { once: true });
  try {
    if (signal.aborted) return;
    await Promise.all(sources.map((source) => dimensions.refresh(source, forced)));
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
