import { type ConfigInput, configFromObject } from '../config/from-object.js';
import { Fault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { type FullStatus, statusOf } from '../reading/status.js';
import { type Clock, systemClock } from '../runtime/clock.js';
import { harmlessLogger } from '../runtime/harmless-logger.js';
import { Lifecycle } from '../runtime/lifecycle.js';
import { type Logger, silentLogger } from '../runtime/logger.js';
import { systemRandom } from '../runtime/random.js';
import { locationText } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import type { MirrorQuery } from '../store/mirror-database.js';
import { openReader } from '../store/reads/open-reader.js';
import type { ManualAsk } from '../sync/schedule-state.js';
import type { TickResult } from '../sync/tick-parts.js';
import { ChangeListeners } from './change-listeners.js';
import type { ChangeListener } from './change-pump.js';
import { checkListener, checkOptions } from './check-options.js';
import { startEngine } from './engine.js';
import { MirrorStart } from './mirror-start.js';
import { pausedResults } from './paused-result.js';
import type { SourceResult } from './source-result.js';
import { configNow } from './source-set.js';
import { TickEnds } from './tick-ends.js';
import { webhookSpacingOf } from './webhook-spacings.js';

export interface MirrorOptions {
  /** The configuration, as in `config.json`. */
  readonly config: ConfigInput;
  /** The base of relative paths (default: the working directory). */
  readonly cwd?: string;
  /** The environment of secrets written as `{"env": "NAME"}`, and of a proxy (default: that of the process). */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: nothing is logged. What it throws is ignored. */
  readonly logger?: Logger;
  readonly clock?: Clock;
}

/** Gets the names of sources that a follow rule added, or that are no longer synced. */
export type SourcesListener = (change: {
  readonly added: readonly string[];
  readonly disconnected: readonly string[];
}) => unknown;

/** A mirror inside another program: what `rosterd run` runs, without its command line and console. */
export interface Mirror {
  /** The location of the mirror: a file, or the address of a database without its password. */
  readonly database: string;
  /** The mirror's own SQLite file; null in PostgreSQL. */
  readonly file: string | null;
  /**
   * Typed queries on a connection that cannot write. With SQLite they run in this thread, so a slow query blocks the
   * event loop of the program.
   */
  readonly query: MirrorQuery;
  /**
   * Starts following the platform: every source now, then by its timer and by webhooks if configured. Obeys `rosterd pause`
   * and, as a member of a fleet, what operators ask for at the console of another member.
   * Also starts what `rosterd run` does beside following: scrubs, retention, notices, alerts, hooks, backups and exports.
   * A start that failed is not repeated: further calls throw the same fault, and ticks throw `usage`. Stop this mirror and
   * create another one.
   */
  start(): Promise<void>;
  /**
   * Runs one tick of each source, or of the named one. Resolves after listeners have received its changes. A source that
   * an operator paused is not read: its report has the outcome `stopped`. Before `start`, it also sends the notices of the
   * ticks and scrubs erased bytes, the latter at most every ten minutes; a failure of either is only logged.
   */
  tick(source?: string, ask?: ManualAsk): Promise<readonly SourceResult[]>;
  /**
   * Calls the listener after each tick with every change committed from now on, in order, also by other processes. Returns a
   * function that stops it. The listener may also receive changes committed between the end of the last tick and the call.
   * `tick` and `stop` wait for the promise that it returns; called by a listener, they do not wait for that one.
   */
  onChange(listener: ChangeListener): () => void;
  /**
   * Calls the listener when a follow rule adds sources or disconnects some, and at the start with those that were connected
   * before. Does not wait for a promise that it returns. Returns a function that stops it.
   */
  onSources(listener: SourcesListener): () => void;
  status(): Promise<FullStatus>;
  /** The URL that receives webhooks; null before `start` and when the configuration has no receiver. */
  readonly receiverUrl: string | null;
  /**
   * Finishes the page being written and closes everything, also what a `start` in progress has opened, which then throws
   * `stopped`. Further calls have no effect. Called by a listener, it resolves at once and closes when the listener has ended.
   */
  stop(): Promise<void>;
}

/**
 * Opens the mirror and creates a missing file; sends no request to the platform yet. Throws `InvalidConfig` with every
 * problem of the configuration, `usage` for other options, `database_unusable`, `database_busy`, `database_full`.
 */
export async function createMirror(options: MirrorOptions): Promise<Mirror> {
  checkOptions(options);
  const { cwd = process.cwd(), env = process.env, clock = systemClock } = options;
  const logger = options.logger === undefined ? silentLogger : harmlessLogger(options.logger);
  const config = configFromObject(options.config, { cwd, env });
  const parts = { config, clock, logger, random: systemRandom };
  const lifecycle = new Lifecycle();
  try {
    const engine = await startEngine(parts);
    lifecycle.add('engine', engine.close);
    const reader = await openReader(config.database);
    lifecycle.add('reader', () => reader.close());
    // Not the connections of the program, which may keep them busy or close them.
    const feed = await openReader(config.database);
    lifecycle.add('feed', () => feed.close());
    const listeners = await ChangeListeners.from(feed.db, logger);
    const deliver = () => {
      // Not awaited, so its rejection is handled here: an unhandled one would end the program.
      listeners
        .deliver()
        .catch((error: unknown) =>
          logger.warn({ error }, 'changes could not be read; listeners receive them after the next tick'),
        );
    };
    engine.sync.onTick(deliver);
    engine.dimensions?.onChanged(deliver);
    lifecycle.add('listeners', async () => {
      await engine.sync.close();
      await listeners.deliver();
    });
    const ends = new TickEnds(engine, parts);
    lifecycle.add('the end of ticks', () => ends.close());
    const start = new MirrorStart(engine, parts, lifecycle);
    return {
      database: locationText(config.database),
      file: dialectFor(config.database).file,
      query: reader.query,
      get receiverUrl() {
        return start.receiverUrl;
      },
      start: () => start.run(),
      async tick(source, ask = {}) {
        start.throwIfFailed();
        const names = engine.sources.all.map(({ name }) => name);
        const chosen = source === undefined ? names : [nameAmong(names, source)];
        // After `stop` each tick reports that by itself.
        const paused = start.isStopped ? new Map<string, TickResult>() : await pausedResults(engine, clock);
        const results = await Promise.all(
          chosen.map(async (name) => ({
            source: name,
            ...(paused.get(name) ?? (await engine.sync.tick(name, ask))),
          })),
        );
        // A started mirror lists companies and rounds, sends notices and scrubs by itself.
        if (!start.hasBegun)
          for (const { source: name, report } of results)
            if (report.outcome === 'done') await engine.dimensions?.refresh(name, ask.resync === true);
        // The changes of the tick reach a listener that called it after that listener has ended.
        await listeners.turns.waitFor(() => listeners.deliver());
        if (!start.hasBegun) await ends.finish(results);
        return results;
      },
      onChange: (listener) => {
        checkListener('onChange', listener);
        return listeners.add(listener);
      },
      onSources: (listener) => {
        checkListener('onSources', listener);
        return engine.sources.onChange(({ added, removed }) => {
          // Parts of the mirror receive the change after this listener has been called.
          const call = async () => await listener({ added, disconnected: removed });
          call().catch((error: unknown) => logger.error({ error }, 'a listener for sources failed'));
        });
      },
      status: () =>
        statusOf(config.database, clock, configNow(config, engine), {
          daemons: [],
          problems: engine.health.list(),
          waits: engine.mirror.waits(),
          spacings: (name) => {
            const source = engine.sources.find(name);
            return source === undefined ? null : webhookSpacingOf(source.name, engine.sync, clock);
          },
          vault: engine.vault,
        }),
      stop: async () => {
        const closing = start.stop().then(() => lifecycle.close());
        const waiting = listeners.turns.waitFor(() => closing);
        if (waiting === null)
          closing.catch((error: unknown) => logger.warn({ error }, 'the mirror could not be closed'));
        await waiting;
      },
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
