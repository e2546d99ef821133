import { readFileSync } from 'node:fs';
import { systemClock } from '../../src/runtime/clock.js';
import type { Life } from './life.js';
import { Violation } from './violation.js';

const turnMillis = 25;
const timeoutMillis = 60_000;

/**
 * A timeout for processes that excludes the time they waited for a CPU and the time in which no process ran. On an
 * overloaded machine its minute may last an hour.
 */
export class Deadline {
  #spent = 0;
  #queued: number;

  constructor(readonly lives: readonly Life[]) {
    this.#queued = this.#queuedMillis();
  }

  get over(): boolean {
    return this.#spent >= timeoutMillis;
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

/**
 * Returns how long a process has waited for a CPU so far; 0 if it is gone or the system does not report it.
 */
function queuedMillis(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** Waits for a process to do something; throws a violation when its timeout is over. */
export async function inTime<Value>(life: Life, wanted: Promise<Value>, missing: string): Promise<Value> {
  const deadline = new Deadline([life]);
  const there = wanted.then((value) => ({ value }));
  for (;;) {
    const seen = await Promise.race([there, deadline.turn()]);
    if (seen !== undefined) return seen.value;
    if (deadline.over) throw new Violation(`${missing}: ${life.printed()}`);
  }
}

export const endOf = (life: Life): Promise<Awaited<Life['ended']>> =>
  inTime(life, life.ended, 'it does not end');

/** An idle daemon that is asked to stop must exit with 0. */
export async function stopAtRest(life: Life): Promise<void> {
  life.kill('SIGTERM');
  const { code, signal } = await endOf(life);
  if (code !== 0)
    throw new Violation(`stopped while idle, the daemon exited with ${code ?? signal}: ${life.printed()}`);
  saysItPlainly(life.printed());
}

/** Checks that output is plain text: no stack trace, no unexpected state. */
export function saysItPlainly(printed: string): void {
  if (/^\s+at .+:\d+:\d+/m.test(printed) || printed.includes('reached an unexpected state'))
    throw new Violation(`output is not plain text: ${printed}`);
}

/** True when a daemon follows the platform, false if it ended before. */
export const comesUp = (life: Life): Promise<boolean> =>
  inTime(life, life.ready, 'it neither follows nor ends');

/** Resolves when a daemon follows the platform; throws with its output if it never does. */
export async function following(life: Life): Promise<void> {
  if (!(await comesUp(life))) throw new Violation(`the daemon does not start: ${life.printed()}`);
}
