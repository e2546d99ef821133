import { type ConfigInput, configFromObject } from '../config/from-object.js';
import { Fault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { type Clock, systemClock } from '../runtime/clock.js';
import { Lifecycle } from '../runtime/lifecycle.js';
import { type Logger, silentLogger } from '../runtime/logger.js';
import { systemRandom } from '../runtime/random.js';
import { openSqlite } from '../store/dialect/sqlite/open.js';
import { type MirrorQuery, mirrorQuery } from '../store/mirror-database.js';
import { readStatus, type StatusDocument } from '../store/reads/status.js';
import { withViews } from '../store/reads/views.js';
import type { ManualAsk } from '../sync/source-loop.js';
import { type ChangeListener, ChangePump } from './change-pump.js';
import { startReceiver } from './daemon.js';
import { startEngine } from './engine.js';
import type { SourceResult } from './sync-once.js';

export interface MirrorOptions {
  /** What would stand in `config.json`. */
  readonly config: ConfigInput;
  /** Where relative paths start; the working directory unless given. */
  readonly cwd?: string;
  /** Where secrets written as `{"env": "NAME"}` are read from; the process's environment unless given. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Nothing is logged unless given. */
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/** A mirror inside another program: what `rosterd run` runs, without the command line around it. */
export interface Mirror {
  /** The mirror's own SQLite file. */
  readonly file: string;
  /**
   * Typed queries on a connection that cannot write. They run in this thread, so a query of seconds holds up
   * everything else of the program for as long.
   */
  readonly query: MirrorQuery;
  /** Follows the platform from now on: every source at once, then by its timer and by webhooks if so configured. */
  start(): Promise<void>;
  /** One tick of each source, or of the one named. Its changes have been handed to listeners when it resolves. */
  tick(source?: string, ask?: ManualAsk): Promise<readonly SourceResult[]>;
  /** Told of every change committed by this mirror from now on, in order. Returns how to stop listening. */
  onChange(listener: ChangeListener): () => void;
  status(): Promise<StatusDocument>;
  /** Where webhooks are received; null before `start` and when the configuration has no receiver. */
  readonly receiverUrl: string | null;
  /** Finishes the page being written and closes everything. Stopping twice is stopping once. */
  stop(): Promise<void>;
}

/**
 * Opens the mirror, creating its file if it is not there, and asks the platform for nothing yet. Throws
 * `InvalidConfig` with every problem of the configuration, `database_unusable`, `database_busy`, `database_full`.
 */
export async function createMirror(options: MirrorOptions): Promise<Mirror> {
  const { cwd = process.cwd(), env = process.env, logger = silentLogger, clock = systemClock } = options;
  const config = configFromObject(options.config, { cwd, env });
  const parts = { config, clock, logger, random: systemRandom };
  const lifecycle = new Lifecycle();
  try {
    const engine = await startEngine(parts);
    lifecycle.add('engine', engine.close);
    const reader = openSqlite(config.database.file, { readonly: true });
    lifecycle.add('reader', reader.close);
    const db = withViews(reader.kysely);
    const pumps = new Set<ChangePump>();
    const pumpAll = async () => {
      await Promise.all([...pumps].map((pump) => pump.pump()));
    };
    engine.sync.onTick(() => void pumpAll());
    lifecycle.add('listeners', async () => {
      await engine.sync.close();
      await pumpAll();
    });
    const names = config.sources.map(({ name }) => name);
    let receiverUrl: string | null = null;
    let started: Promise<void> | undefined;
    const start = async () => {
      if (config.receiver !== null)
        receiverUrl = (await startReceiver(config, config.receiver, engine, parts, lifecycle)).url;
      engine.sync.start();
    };
    return {
      file: config.database.file,
      query: mirrorQuery(reader.kysely),
      get receiverUrl() {
        return receiverUrl;
      },
      start: () => {
        started ??= start();
        return started;
      },
      async tick(source, ask = {}) {
        const chosen = source === undefined ? names : [nameAmong(names, source)];
        const results = await Promise.all(
          chosen.map(async (name) => ({ source: name, ...(await engine.sync.tick(name, ask)) })),
        );
        await pumpAll();
        return results;
      },
      onChange(listener) {
        const newest = reader.raw
          .prepare<[], number>('SELECT coalesce(max(seq), 0) FROM changes')
          .pluck()
          .get() as number;
        const pump = new ChangePump(db, listener, logger, newest);
        pumps.add(pump);
        return () => void pumps.delete(pump);
      },
      status: () => readStatus(db, clock),
      stop: () => lifecycle.close(),
    };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

function nameAmong(names: readonly SourceName[], wanted: string): SourceName {
  const found = names.find((name) => name === wanted);
  if (found !== undefined) return found;
  throw new Fault('usage', `no source is called ${JSON.stringify(wanted)}`, {
    hint: `one of: ${names.join(', ')}`,
  });
}
