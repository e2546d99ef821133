import type { Chance } from './chance.js';
import { hash } from './chance.js';

/** Taken before the globals are forbidden. */
const nextTurn = globalThis.setImmediate;
const realNanos = process.hrtime.bigint.bind(process.hrtime);

/** A busy disk may be slow; simulated code that spins for this long never ends. */
const restlessNanosMax = 30_000_000_000n;

export interface Scheduled {
  cancel(): void;
}

interface Entry {
  readonly at: number;
  readonly tie: number;
  readonly no: number;
  readonly label: string;
  readonly action: () => void;
  canceled: boolean;
}

/**
 * Every event, in one queue: ordered by virtual time, then by seeded chance. Before the next event is taken,
 * everything the previous one started must settle, so a run is a function of its seed.
 */
export class Scheduler {
  now: number;
  events = 0;
  /** Hash over the labels and times of all events: two runs of a seed must agree. */
  trace = 0;
  readonly lines: string[] = [];
  readonly #queue: Entry[] = [];
  #no = 0;

  constructor(
    start: number,
    readonly chance: Chance,
    readonly keepLines: boolean,
    /** The pending work of a real server; null when it is idle. */
    readonly outside: () => Promise<void> | null = () => null,
  ) {
    this.now = start;
  }

  in(millis: number, label: string, action: () => void): Scheduled {
    // Whole milliseconds, like timers: a wait for a fraction of one would end too early.
    return this.at(this.now + Math.max(0, Math.ceil(millis)), label, action);
  }

  at(time: number, label: string, action: () => void): Scheduled {
    this.#no += 1;
    const entry: Entry = {
      at: Math.max(time, this.now),
      tie: this.chance.fraction(),
      no: this.#no,
      label,
      action,
      canceled: false,
    };
    push(this.#queue, entry);
    return {
      cancel: () => {
        entry.canceled = true;
      },
    };
  }

  note(line: string): void {
    this.trace = hash(`${this.now}:${line}`, this.trace);
    if (this.keepLines) this.lines.push(`${((this.now - epoch) / 1000).toFixed(3)} ${line}`);
  }

  /** Runs until `over` returns true or time is up; `eventsMax` bounds a run that never becomes idle. */
  async run(until: number, over: () => boolean, eventsMax: number): Promise<'over' | 'time' | 'bound'> {
    await settled(this.outside);
    for (let turn = 0; turn < eventsMax; turn += 1) {
      if (over()) return 'over';
      const entry = pop(this.#queue);
      if (entry === undefined) return 'time';
      if (entry.canceled) continue;
      if (entry.at > until) {
        push(this.#queue, entry);
        this.now = Math.max(this.now, until);
        return 'time';
      }
      this.now = entry.at;
      this.events += 1;
      this.note(entry.label);
      entry.action();
      await settled(this.outside);
    }
    return 'bound';
  }
}

export const epoch = Date.parse('2026-11-01T00:00:00Z');

/**
 * Resolves when promises, next ticks, immediates and the few real file operations (the credentials file) have
 * settled. Takes at least two turns, because the end of a stream takes one of its own.
 */
export async function settled(outside: () => Promise<void> | null): Promise<void> {
  const begun = realNanos();
  for (let turn = 0, quiet = 0; quiet < 2; turn += 1) {
    if (turn % 1_000 === 999 && realNanos() - begun > restlessNanosMax)
      throw new Error('the simulated code never settles');
    const work = outside();
    if (work !== null) {
      quiet = 0;
      await work;
    }
    await new Promise<void>((resolve) => nextTurn(resolve));
    quiet = process.getActiveResourcesInfo().some(isWork) ? 0 : quiet + 1;
  }
}

const isWork = (resource: string) => resource === 'Immediate' || resource.includes('Req');

const before = (a: Entry, b: Entry) => a.at - b.at || a.tie - b.tie || a.no - b.no;

function push(heap: Entry[], entry: Entry): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] as Entry;
    if (before(above, entry) <= 0) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = entry;
}

function pop(heap: Entry[]): Entry | undefined {
  const top = heap[0];
  const last = heap.pop();
  if (top === undefined || last === undefined || heap.length === 0) return top;
  let at = 0;
  for (;;) {
    let child = at * 2 + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && before(heap[child + 1] as Entry, heap[child] as Entry) < 0) child += 1;
    if (before(heap[child] as Entry, last) >= 0) break;
    heap[at] = heap[child] as Entry;
    at = child;
  }
  heap[at] = last;
  return top;
}
