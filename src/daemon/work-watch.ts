import { isFault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthRegister } from '../runtime/health-register.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { TickResult } from '../sync/tick-parts.js';
import type { DatabaseServer, OpenMirror } from './mirror-parts.js';

export interface WorkWatchParts {
  readonly register: HealthRegister;
  readonly clock: Clock;
  /** Called when the database could not be reached. */
  readonly onAway: () => void;
  /** Called when work on the database succeeded. */
  readonly onWorks: () => void;
}

interface AreaWatched {
  readonly means: string;
  readonly calls: readonly string[];
  /** Whether only a failure of its own table is reported: where the whole database fails, the other areas say so. */
  readonly isMinor?: boolean;
}

/** The areas watched besides ticks: what a failure means, and the calls that show it. */
const areas = {
  inbox: { means: 'webhooks cannot be stored', calls: ['accept'] },
  events: {
    means: 'stored webhooks cannot be worked',
    calls: ['waiting', 'pending', 'settle', 'retry', 'proofOf'],
  },
  outbox: {
    means: 'notices cannot be read or settled',
    calls: ['waiting', 'dueFor', 'begin', 'delivered', 'retryLater', 'giveUp'],
  },
  budgets: { means: 'request budgets cannot be stored', calls: ['load', 'save', 'swap'] },
  alerts: {
    means: 'alerts cannot be read or settled',
    calls: [
      ...['open', 'told', 'queue', 'raise', 'mark', 'resolve'],
      ...['waiting', 'dueFor', 'begin', 'delivered', 'retryLater', 'giveUp'],
    ],
    isMinor: true,
  },
  hooks: {
    means: 'after-sync hooks cannot be read or settled',
    calls: ['state', 'firstChange', 'changesAfter', 'queue', 'succeeded', 'retryLater', 'giveUp'],
    isMinor: true,
  },
  pauses: { means: 'pauses cannot be read', calls: ['list'], isMinor: true },
  requests: { means: 'what operators ask for cannot be read', calls: ['list'], isMinor: true },
} as const satisfies Record<string, AreaWatched>;

type Area = keyof typeof areas;

interface Failed {
  /** The monotonic time of the last failure. */
  at: number;
  /** The calls that have failed and not succeeded since. */
  readonly calls: Set<string>;
  /** Whether the failure may be that of one table, of which writes to other tables say nothing. */
  isOfTable: boolean;
  /** Whether no known fault of a database explains a failure: then only its own call can show that it is over. */
  isUnknown: boolean;
}

/** How often a write is tried after a failure: health is right again this soon after the database is. */
const tryMillis = 5_000;

/**
 * Reports database failures of this process to the health register. A failed tick is normally recorded in the database;
 * this class covers failures the database could not record, those of work that is not a tick, and a delivery that was not
 * stored for any other reason. A failure of the database is over when its call succeeds, or any later write does. The next delivery or tick may be hours away, so a write is tried until then.
 */
export class WorkWatch implements Closable {
  readonly #failed = new Map<Area, Failed>();

  readonly #stopping = new Interrupter();
  #tryWrite: OpenMirror['tryWrite'] | null = null;
  #isTrying = false;
  #heartbeatFailed = false;

  constructor(private readonly parts: WorkWatchParts) {}

  async close(): Promise<void> {
    this.#stopping.abort();
  }

  /** Returns the same mirror with what it stores for this process watched. */
  over(mirror: OpenMirror): OpenMirror {
    const { server, fleet } = mirror;
    this.#tryWrite = mirror.tryWrite;
    const inbox = this.#guard('inbox', mirror.inbox, server);
    return {
      ...mirror,
      mirror: this.#guard(null, mirror.mirror, server),
      dimensions: this.#guard(null, mirror.dimensions, server),
      inbox: this.#guard('events', inbox, server),
      outbox: this.#guard('outbox', mirror.outbox, server),
      budgets: this.#guard('budgets', mirror.budgets, server),
      alerts: this.#guard('alerts', mirror.alerts, server),
      afterSync: this.#guard('hooks', mirror.afterSync, server),
      pauses: this.#guard('pauses', mirror.pauses, server),
      requests: this.#guard('requests', mirror.requests, server),
      fleet:
        fleet === null
          ? null
          : (member, ears) =>
              this.#guard(null, fleet(member, { ...ears, onLost: this.parts.onAway }), server),
    };
  }

  ticked(source: SourceName, { report, phase, recorded }: TickResult): void {
    const { register, clock } = this.parts;
    const key = `tick.${source}`;
    const lease = `lease.${source}`;
    const since = report.startedAt;
    const { code, message, outcome, tookMs } = report;
    if (outcome === 'failed' && code === 'lease_lost') {
      // A lease refused at the start only means that another process works the source. A lease lost in the middle means
      // that this process stopped renewing it.
      register.clear(key);
      if (phase === null) register.clear(lease);
      else register.report(lease, { severity: 'attention', text: message ?? '', since, source });
    } else {
      register.clear(lease);
      if (outcome === 'failed' && (!recorded || code?.startsWith('database_') === true))
        register.report(key, {
          severity: 'ill',
          text: `its last tick failed${recorded ? '' : ' and could not be written down'}: ${message}`,
          since,
          source,
        });
      else register.clear(key);
    }
    if (recorded) this.#wrote(clock.monotonic() - tookMs);
  }

  /** Clears what is known of a source that was removed. */
  forget(source: SourceName): void {
    this.parts.register.clear(`tick.${source}`);
    this.parts.register.clear(`lease.${source}`);
  }

  /**
   * Records that a fleet heartbeat was written (null) or failed. It is written every two seconds, so it ends the failure of a
   * table only after one that failed, too: then the whole database was refused.
   */
  heartbeat(error: unknown): void {
    const { register, clock } = this.parts;
    if (error === null) {
      const hadFailed = this.#heartbeatFailed;
      this.#heartbeatFailed = false;
      register.clear('fleet');
      this.#wrote(clock.monotonic(), (_, { isOfTable }) => hadFailed || !isOfTable);
      return;
    }
    this.#heartbeatFailed = true;
    register.report('fleet', {
      severity: 'ill',
      text: `this daemon cannot take part in its fleet: ${causeOf(error)}`,
      since: instantFromMillis(clock.now()),
    });
  }

  /** Records a write that began at `begunAt`: failures before it are over, whether or not they are retried. */
  #wrote(begunAt: number, isOver: (area: Area, failed: Failed) => boolean = () => true): void {
    this.parts.onWorks();
    for (const [area, failed] of this.#failed)
      if (failed.at < begunAt && !failed.isUnknown && isOver(area, failed)) this.#recovered(area);
  }

  #recovered(area: Area): void {
    this.#failed.delete(area);
    this.parts.register.clear(area);
  }

  /** Without an area, only the loss of the database is reported: ticks report their own failures. */
  #guard<Target extends object>(area: Area | null, target: Target, server: DatabaseServer | null): Target {
    const calls: readonly string[] | null = area === null ? null : areas[area].calls;
    return new Proxy(target, {
      get: (_, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        if (calls?.includes(String(property)) === false) return value.bind(target);
        return async (...args: unknown[]) => {
          try {
            const result: unknown = await Reflect.apply(value, target, args);
            if (area !== null) this.#succeeded(area, String(property));
            return result;
          } catch (error) {
            if (area !== null) this.#fail(area, String(property), error);
            if (server?.isAway(error) === true) this.parts.onAway();
            throw error;
          }
        };
      },
    });
  }

  #succeeded(area: Area, call: string): void {
    const failed = this.#failed.get(area);
    if (failed === undefined) return;
    failed.calls.delete(call);
    if (failed.calls.size === 0) this.#recovered(area);
  }

  #fail(area: Area, call: string, error: unknown): void {
    const isOfDatabase = isFault(error) && error.code.startsWith('database_');
    const { means, isMinor = false }: AreaWatched = areas[area];
    if (isMinor && !isFault(error, 'database_unusable')) return;
    // A delivery that is not stored is a problem, whatever the cause.
    if (!isOfDatabase && (area !== 'inbox' || isFault(error, 'stopped'))) return;
    const { register, clock } = this.parts;
    const failed = this.#failed.get(area) ?? {
      at: 0,
      calls: new Set<string>(),
      isOfTable: false,
      isUnknown: false,
    };
    failed.at = clock.monotonic();
    if (isFault(error, 'database_unusable')) failed.isOfTable = true;
    if (!isOfDatabase) failed.isUnknown = true;
    failed.calls.add(call);
    this.#failed.set(area, failed);
    register.report(area, {
      severity: 'ill',
      text: `${means}: ${causeOf(error)}`,
      since: instantFromMillis(clock.now()),
    });
    if (!this.#isTrying && this.#tryWrite !== null) void this.#keepTrying(this.#tryWrite);
  }

  /** Tries a write until it can show nothing more. One that fails changes nothing: the problem stays. */
  async #keepTrying(tryWrite: () => Promise<void>): Promise<void> {
    const { clock } = this.parts;
    this.#isTrying = true;
    const isWorth = () =>
      !this.#stopping.aborted && [...this.#failed].some(([area, failed]) => isTriable(area, failed));
    while (isWorth()) {
      await clock.wait(tryMillis, this.#stopping);
      if (!isWorth()) break;
      const begunAt = clock.monotonic();
      const succeeded = await tryWrite().then(
        () => true,
        () => false,
      );
      if (succeeded) this.#wrote(begunAt, isTriable);
    }
    this.#isTrying = false;
  }
}

/** What is tried is the storing of a delivery. */
const isTriable = (area: Area, { isOfTable, isUnknown }: Failed): boolean =>
  !isUnknown && (area === 'inbox' || !isOfTable);

/** The message of an unknown error may quote what could not be stored. What to do is said where waiting does not help. */
function causeOf(error: unknown): string {
  if (!isFault(error)) return 'the log has the cause';
  const { code, message, about } = error;
  const isMended = code === 'database_unusable' || about.lasting === true;
  return isMended && about.hint !== undefined ? `${message} (${about.hint})` : message;
}
