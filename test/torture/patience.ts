import { readFileSync } from 'node:fs';
import { systemClock } from '../../src/runtime/clock.js';
import type { Life } from './life.js';
import { Violation } from './violation.js';

const turnMillis = 25;
const patienceMillis = 60_000;

/**
 * Patience with processes, counted in what they were given: neither the time in which they stood in line for a
 * processor counts, nor that in which nobody had a turn. On a starved machine its minute may last an hour.
 */
export class Patience {
  #spent = 0;
  #queued: number;

  constructor(readonly lives: readonly Life[]) {
    this.#queued = this.#queuedMillis();
  }

  get over(): boolean {
    return this.#spent >= patienceMillis;
  }

  async turn(): Promise<void> {
    const begun = systemClock.monotonic();
    await systemClock.wait(turnMillis);
    const passed = Math.min(systemClock.monotonic() - begun, 2 * turnMillis);
    const queued = this.#queuedMillis();
    this.#spent += Math.max(0, passed - Math.max(0, queued - this.#queued));
    this.#queued = queued;
  }

  #queuedMillis(): number {
    return this.lives.reduce((sum, { child }) => sum + queuedMillis(child.pid), 0);
  }
}

/** How long a process stood in line for a processor so far; 0 when it is gone, or where the system does not tell. */
function queuedMillis(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** What is awaited of a process; a violation when patience with it is over. */
export async function patiently<Value>(life: Life, wanted: Promise<Value>, missing: string): Promise<Value> {
  const patience = new Patience([life]);
  const there = wanted.then((value) => ({ value }));
  for (;;) {
    const seen = await Promise.race([there, patience.turn()]);
    if (seen !== undefined) return seen.value;
    if (patience.over) throw new Violation(`${missing}: ${life.printed()}`);
  }
}

export const endOf = (life: Life): Promise<Awaited<Life['ended']>> =>
  patiently(life, life.ended, 'it does not end');

/** Asked to stop while it is at rest, a daemon ends with 0. */
export async function stopAtRest(life: Life): Promise<void> {
  life.kill('SIGTERM');
  const { code, signal } = await endOf(life);
  if (code !== 0) throw new Violation(`stopped at rest, it ended with ${code ?? signal}: ${life.printed()}`);
  saysItPlainly(life.printed());
}

/** Whatever happened is told in words: no stack trace, no state that nobody expected. */
export function saysItPlainly(printed: string): void {
  if (/^\s+at .+:\d+:\d+/m.test(printed) || printed.includes('does not expect'))
    throw new Violation(`not told in words: ${printed}`);
}

/** True when a daemon follows the platform, false when it ended before. */
export const comesUp = (life: Life): Promise<boolean> =>
  patiently(life, life.ready, 'it neither follows nor ends');

/** Resolves when a daemon follows the platform; throws with what it printed when it does not get there. */
export async function following(life: Life): Promise<void> {
  if (!(await comesUp(life))) throw new Violation(`the daemon does not start: ${life.printed()}`);
}
