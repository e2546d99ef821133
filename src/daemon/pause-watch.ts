import type { SourceName } from '../domain/ids.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable, Lifecycle } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Pauses } from '../store/pauses.js';
import type { Sync } from '../sync/sync.js';
import type { Engine, EngineParts } from './engine.js';
import { readEachSecond } from './read-each-second.js';
import type { SourceSet } from './source-set.js';

/** Obeys pauses until `lifecycle` closes. Returns once those that are in force now are obeyed. */
export async function obeyPauses(
  engine: Pick<Engine, 'mirror' | 'dimensions' | 'sources'> & {
    readonly sync: Pick<Sync, 'pause' | 'resume'>;
  },
  parts: EngineParts,
  lifecycle: Lifecycle,
): Promise<void> {
  const watch = await watchPauses({
    pauses: engine.mirror.pauses,
    sources: engine.sources,
    sync: engine.sync,
    // Companies and rounds are listed after complete ticks only.
    onPaused: (source) => engine.dimensions?.ticked(source, false),
    clock: parts.clock,
    logger: parts.logger.child({ component: 'pause' }),
  });
  lifecycle.add('watch over pauses', () => watch.close());
}

export interface PauseWatchParts {
  readonly pauses: Pick<Pauses, 'list'>;
  readonly sources: Pick<SourceSet, 'find' | 'onChange'>;
  readonly sync: Pick<Sync, 'pause' | 'resume'>;
  /** Called once no tick of a paused source is running. */
  readonly onPaused?: (source: SourceName) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One lookup of a tiny table. */
const lookMillis = 1_000;

/**
 * Makes the scheduler obey `rosterd pause` and `rosterd resume`, which write to the database. Returns once the pauses that
 * hold now are in force. While the database cannot be read, the last known ones stay.
 */
async function watchPauses(parts: PauseWatchParts): Promise<Closable> {
  const { pauses, sources, sync, clock, logger } = parts;
  const stopping = new AbortController();
  const paused = new Set<SourceName>();
  /** The pauses in the database, also of sources that are not known here. */
  let wanted: ReadonlySet<string> = new Set();

  const obey = () => {
    for (const name of wanted) {
      const source = sources.find(name)?.name;
      if (source === undefined || paused.has(source)) continue;
      paused.add(source);
      // Not awaited: the running tick of a source finishes its page.
      void sync.pause(source).then(() => parts.onPaused?.(source));
      logger.info({ source }, 'the source is paused');
    }
    for (const source of paused) {
      if (wanted.has(source)) continue;
      paused.delete(source);
      sync.resume(source);
      logger.info({ source }, 'the source is resumed');
    }
  };
  const look = async () => {
    wanted = new Set((await pauses.list()).map(({ source }) => source));
    obey();
  };
  const off = sources.onChange(({ removed }) => {
    for (const source of removed) {
      // Ends what this watch counts for the source, so that one of the same name begins without.
      if (paused.delete(source)) sync.resume(source);
    }
    obey();
  });

  await look();
  const lookAgain = readEachSecond(look, parts, 'the pauses could not be read');
  const run = async () => {
    while (!stopping.signal.aborted) {
      await clock.wait(lookMillis, stopping.signal);
      if (stopping.signal.aborted) return;
      await lookAgain();
    }
  };
  const running = run();
  return {
    close: async () => {
      off();
      stopping.abort();
      await running;
    },
  };
}
