import { systemClock } from '../../../src/runtime/clock.js';
import { connectedNow, listedNow, processors, revokeNewcomer, startThree } from './connect-all.js';
import { Crowd, type CrowdOptions } from './crowd.js';
import type { Pace } from './processes.js';
import { count, say } from './report.js';

const hourMillis = 3_600_000;

export interface SteadyOptions {
  /** How many times as fast as real time. */
  readonly speed: number;
  readonly hours: number;
}

/** Faster time that begins now. */
const fasterFromNow = (speed: number): Pace => ({ epoch: systemClock.now(), speed });

/** Connected sources under the limits of the platform. The daemons share one address. */
export async function steadyHours(crowd: Crowd, { speed, hours }: SteadyOptions): Promise<void> {
  const pace = fasterFromNow(speed);
  await crowd.restartSandbox(true, pace);
  await startThree(crowd, true);
  say(`${count(await connectedNow(crowd))} sources under the limits, one address, ${speed} times as fast:`);
  for (let hour = 1; hour <= hours; hour += 1) {
    crowd.counted.restart();
    await systemClock.wait(hourMillis / speed);
    const { all, byKind, refused } = crowd.counted;
    say(`  hour ${hour}: ${count(all)} requests, ${refused} refused with 429 (${byKind})`);
  }
  const { tokens, longestMillis } = crowd.counted.waiting(
    pace.epoch + (systemClock.now() - pace.epoch) * speed,
  );
  say(`  ${count(tokens)} sources read; the longest time between two reads ${minutes(longestMillis)}`);
  say(`  ${crowd.memory()}; ${processors(crowd)}`);
}

/** The first hour of connecting, under the limits of the platform. */
export async function firstHour(options: CrowdOptions, speed: number): Promise<void> {
  const crowd = await Crowd.start(options, true, fasterFromNow(speed));
  try {
    await revokeNewcomer(crowd);
    await startThree(crowd, true);
    say(`${count(options.companies)} installations under the limits, ${speed} times as fast:`);
    for (const part of [1, 2, 3, 4]) {
      await systemClock.wait(hourMillis / 4 / speed);
      const [connected, listed] = [await connectedNow(crowd), await listedNow(crowd)];
      say(`  after ${part * 15} minutes: ${count(connected)} sources, ${count(listed)} listed`);
    }
    const { all, byKind, refused } = crowd.counted;
    say(`  ${count(all)} requests, ${refused} refused with 429 (${byKind})`);
  } finally {
    await crowd.close();
  }
}

const minutes = (millis: number) => `${Math.round(millis / 60_000)} min`;
