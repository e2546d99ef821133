import { onTestFinished } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import type { SourceName } from '../../src/domain/ids.js';
import type { Instant } from '../../src/domain/instant.js';
import { createFleet, type Fleet, type FleetParts } from '../../src/fleet/fleet.js';
import type { FleetEars, FleetStore } from '../../src/fleet/ports.js';
import { silentLogger } from '../../src/runtime/logger.js';
import type { VirtualClock } from '../sync/support/virtual-clock.js';

export const names = (...all: string[]) => all as SourceName[];

/** The tables of a fleet in memory. A member lives unless it is silent. */
export class Tables {
  readonly members = new Map<string, readonly SourceName[]>();
  readonly held = new Map<SourceName, string>();
  readonly ears = new Map<string, FleetEars>();
  /** By member, its name by default. */
  readonly joinedAt = new Map<string, string>();
  readonly spaced = new Map<string, readonly SourceName[]>();
  /** Members whose heartbeat had expired before the next one. */
  readonly expired = new Set<string>();
  readonly marked: string[] = [];
  readonly left: string[] = [];
  joins = 0;
  beats = 0;
  /** How often the holdings were read. */
  reads = 0;
  /** Whether registrations are lost. */
  isForgetful = false;
  /** Members whose heartbeats do not arrive. */
  readonly silent = new Set<string>();
  /** What the heartbeats of a member wait for. */
  readonly late = new Map<string, Promise<void>>();
  /** Thrown by the next registration. */
  fault: Error | null = null;

  readonly open = (member: string, ears: FleetEars): FleetStore => {
    this.ears.set(member, ears);
    return {
      join: async (sources) => {
        const fault = this.fault;
        this.fault = null;
        if (fault !== null) throw fault;
        this.joins += 1;
        if (!this.isForgetful) this.members.set(member, sources);
      },
      beat: async (spaced) => {
        this.beats += 1;
        this.spaced.set(member, spaced);
        await this.late.get(member);
        if (this.silent.has(member)) throw new Fault('database_busy', 'no connection is left');
        if (!this.members.has(member)) return null;
        return {
          late: this.expired.delete(member),
          members: [...this.members.keys()].map((one) => ({
            member: one,
            joinedAt: (this.joinedAt.get(one) ?? one) as Instant,
            alive: this.#lives(one),
            holds: [...this.held.values()].filter((holder) => holder === one).length,
            spaced: this.spaced.get(one) ?? [],
          })),
        };
      },
      holdings: async () => {
        this.reads += 1;
        const living = [...this.members].filter(([one]) => this.#lives(one));
        return {
          members: living.map(([one, sources]) => ({ member: one, sources })),
          held: new Map([...this.held].filter(([, holder]) => this.#lives(holder))),
        };
      },
      take: async (sources) => {
        const free = sources.filter((source) => !this.#lives(this.held.get(source) ?? ''));
        for (const source of free) this.held.set(source, member);
        return free;
      },
      release: async (sources) => {
        for (const source of sources) if (this.held.get(source) === member) this.held.delete(source);
      },
      markDead: async (dead) => {
        this.marked.push(...dead);
        for (const one of dead) this.silent.add(one);
      },
      leave: async () => {
        this.left.push(member);
        this.members.delete(member);
        for (const [source, holder] of this.held) if (holder === member) this.held.delete(source);
      },
      tell: async (message) => {
        for (const [other, { onMessage }] of this.ears) if (other !== member) onMessage(message);
      },
      close: async () => {},
    };
  };

  #lives(member: string): boolean {
    return this.members.has(member) && !this.silent.has(member);
  }

  heldBy(member: string): readonly SourceName[] {
    return [...this.held].flatMap(([source, holder]) => (holder === member ? [source] : [])).sort();
  }
}

interface Member {
  readonly fleet: Fleet;
  readonly followed: Set<SourceName>;
  /** How often it began to lead. */
  readonly led: () => number;
}

export async function started(
  tables: Tables,
  clock: VirtualClock,
  member: string,
  sources: SourceName[],
  own: Partial<FleetParts> = {},
): Promise<Member> {
  const followed = new Set<SourceName>();
  let led = 0;
  const fleet = createFleet({
    open: tables.open,
    member,
    sources,
    clock,
    logger: silentLogger,
    isGone: () => false,
    follow: (taken) => {
      for (const source of taken) followed.add(source);
    },
    leave: async (source) => void followed.delete(source),
    isBusy: () => false,
    spaced: () => [],
    onSpaced: () => {},
    onMessage: () => {},
    onLook: () => {},
    onLead: () => {
      led += 1;
    },
    ...own,
  });
  onTestFinished(() => fleet.close());
  await fleet.start();
  return { fleet, followed, led: () => led };
}
