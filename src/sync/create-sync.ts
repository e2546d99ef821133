import PQueue from 'p-queue';
import type { SourceName } from '../domain/ids.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { SyncSource } from './ports.js';
import { runTick, type TickAsk, type TickOptions, type TickParts, type TickResult } from './run-tick.js';
import { type ManualAsk, SourceLoop } from './source-loop.js';

export interface SyncOptions extends TickOptions {
  readonly intervalMillis: number;
  /** What it stretches to while webhooks prove that they announce everything. */
  readonly idleIntervalMillis: number;
  /** Sources ticking at the same time. */
  readonly concurrency: number;
}

export interface SyncParts extends Omit<TickParts, 'options'> {
  readonly sources: readonly SyncSource[];
  readonly options: SyncOptions;
}

export type TickListener = (source: SourceName, result: TickResult) => void;

export interface Sync extends Closable {
  /** Ticks every source now, and from then on by its timer. Without it only nudges and `tick` do. */
  start(): void;
  /** The same for one source: its first tick is due at once. */
  follow(source: SourceName): void;
  /**
   * Somebody else works the source from now on, until `follow`: neither its timer nor nudges make it tick here, only
   * `tick` does. Resolves when no tick of it runs.
   */
  leave(source: SourceName): Promise<void>;
  /** Whether a tick of it runs. */
  isBusy(source: SourceName): boolean;
  /** Something happened on the platform: look soon. Cheap: all that come during one tick cost one more after it. */
  nudge(source: SourceName): void;
  /** Its token or grant may be another one now: looks at once, even at a halted source, and asks what may be read. */
  recheck(source: SourceName): void;
  /** One tick for a human who waits for its end. */
  tick(source: SourceName, ask?: ManualAsk): Promise<TickResult>;
  /** The database was away and answers again: what waits because of it goes on at once. */
  databaseIsBack(): void;
  /** Told after every tick, before the next one of that source begins. Returns how to stop listening. */
  onTick(listener: TickListener): () => void;
  /** Resolves once no tick runs and none is due. */
  idle(): Promise<void>;
  /** Lets the pages being written finish, ends the ticks and takes no more. */
  close(): Promise<void>;
}

const urgentPriority = 1;

/** Keeps sources in step with the platform, each at its own pace, a bounded number at a time. */
export function createSync(parts: SyncParts): Sync {
  const { clock, random, options, logger } = parts;
  const queue = new PQueue({ concurrency: options.concurrency });
  const stopping = new AbortController();
  const listeners = new Set<TickListener>();
  const waitingForRest = new Set<() => void>();
  const loops = new Map<SourceName, SourceLoop>();

  const resting = () => [...loops.values()].every((loop) => loop.resting);
  const onRest = () => {
    if (waitingForRest.size === 0 || !resting()) return;
    for (const resolve of waitingForRest) resolve();
    waitingForRest.clear();
  };

  const inTurn = async (
    source: SyncSource,
    log: SyncParts['logger'],
    urgent: boolean,
    ask: () => TickAsk | null,
  ): Promise<TickResult | null> => {
    const result = await queue.add(
      async () => {
        const asked = ask();
        return asked === null
          ? null
          : await runTick(source, asked, { ...parts, logger: log }, stopping.signal);
      },
      // What was announced or asked for by a human goes before what the timer wants.
      { priority: urgent ? urgentPriority : 0, id: source.identity.name },
    );
    if (result === null) return null;
    report(log, result);
    for (const listener of listeners) listener(source.identity.name, result);
    return result;
  };

  for (const source of parts.sources) {
    const { name } = source.identity;
    if (loops.has(name)) throw new Error(`two sources are called ${name}`);
    const log = logger.child({ source: name });
    loops.set(
      name,
      new SourceLoop({
        ...{ clock, random, onRest },
        intervalMillis: options.intervalMillis,
        idleIntervalMillis: options.idleIntervalMillis,
        inTurn: (urgent, ask) => inTurn(source, log, urgent, ask),
        raise: () => queue.setPriority(name, urgentPriority),
      }),
    );
  }

  const loopOf = (name: SourceName): SourceLoop => {
    const loop = loops.get(name);
    if (loop === undefined) throw new Error(`no source is called ${name}`);
    return loop;
  };

  return {
    start: () => {
      for (const loop of loops.values()) loop.start();
    },
    follow: (name) => loopOf(name).start(),
    leave: (name) => loopOf(name).leave(),
    isBusy: (name) => loopOf(name).busy,
    nudge: (name) => loopOf(name).nudge(),
    recheck: (name) => loopOf(name).recheck(),
    tick: (name, ask = {}) => loopOf(name).ask(ask),
    databaseIsBack: () => {
      for (const loop of loops.values()) loop.databaseIsBack();
    },
    onTick: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    idle: () =>
      resting() ? Promise.resolve() : new Promise((resolve) => waitingForRest.add(() => resolve())),
    close: async () => {
      stopping.abort();
      await Promise.all([...loops.values()].map((loop) => loop.close()));
    },
  };
}

function report(log: SyncParts['logger'], { report, standing }: TickResult): void {
  const { trigger, mode, pages, tookMs, outcome, applied } = report;
  const fields = {
    ...{ trigger, mode, pages, tookMs, outcome },
    ...{ added: applied.added, changed: applied.changed, removed: applied.removed },
    quarantined: applied.quarantined,
    ...(report.code === null ? {} : { code: report.code }),
    ...(report.retryAt === null ? {} : { until: report.retryAt }),
    ...(report.message === null || report.code === 'internal' ? {} : { hint: report.message }),
  };
  if (standing?.kind === 'halted' && trigger === 'timer' && mode === 'none')
    log.debug(fields, 'the source still waits for a human');
  else if (standing?.kind === 'halted') log.error(fields, 'the source waits for a human');
  else if (report.outcome === 'failed') log.warn(fields, 'the tick failed and is tried again');
  else if (applied.quarantined > 0) log.warn(fields, 'records could not be read and were set aside');
  else if (report.outcome === 'done' && pages <= 1 && applied.added + applied.changed + applied.removed === 0)
    log.debug(fields, 'nothing new');
  else log.info(fields, 'the tick is over');
}
