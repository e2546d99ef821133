import { systemClock } from '../../../src/runtime/clock.js';
import { seededRandom } from '../../../src/runtime/random.js';
import type { Counters } from '../counters.js';
import { differences } from '../judge.js';
import { Violation } from '../violation.js';
import { type Baseline, judge, statesOf, truthOf } from './check.js';
import { Director } from './director.js';
import type { Planned } from './plan.js';
import type { World } from './world.js';

export interface Play {
  /** Of the changes on the platform. */
  readonly seed: number;
  readonly plan: readonly Planned[];
  readonly restMillisMax: number;
}

/** Lists every source for the first time. The analysts read from the beginning. */
export async function begin(world: World): Promise<Baseline> {
  world.startAnalyst('x');
  world.startAnalyst('y');
  await until(300_000, 'not every source was listed', async () => {
    const [row] = await world.rows<{ listed: number }>(
      "SELECT count(*)::int AS listed FROM sources WHERE state = 'following'",
    );
    // A source without a row has not been opened yet.
    return row?.listed === world.ready.companies.length;
  });
  return await statesOf(world);
}

/**
 * One epoch: the platform changes while the faults of the plan strike, then everything is whole again and the judge
 * looks. Throws a `Violation` with everything that is wrong.
 */
export async function playEpoch(
  world: World,
  play: Play,
  since: Baseline,
  counters: Counters,
): Promise<void> {
  const director = new Director(world, counters);
  const random = seededRandom(play.seed + 1);
  const promotionsBefore = world.promotions.length;
  let quiet = false;
  const changing = (async () => {
    while (!quiet) {
      await world.churn(1 + Math.floor(random.fraction() * 3));
      await systemClock.wait(random.fraction() * 400);
    }
  })();
  changing.catch(() => {});
  for (const { afterMillis, fault } of play.plan) {
    await systemClock.wait(afterMillis);
    director.begin(fault);
  }
  await director.ended();
  quiet = true;
  await changing;
  await director.reviveAll();
  const wasLost = !world.options.synchronous && world.promotions.length > promotionsBefore;
  if (wasLost) for (const { id } of world.ready.companies) await world.touch(id);
  await rest(world, play.restMillisMax);
  const wrong = await judge(world, since);
  if (wrong.length > 0) throw new Violation(wrong.slice(0, 20).join('\n  '));
}

/** Old cursors and tokens: a hundred days pass on the platform, in steps that no sign-in outlives unused. */
export async function expireCursors(world: World, counters: Counters): Promise<void> {
  const day = 86_400_000;
  await world.killPlatform();
  await world.startPlatform();
  for (let step = 0; step < 4; step += 1) {
    await world.advance(25 * day);
    for (const [index, { id }] of world.ready.companies.entries())
      if (world.isSignedIn(index)) await world.touch(id);
    await rest(world, 180_000);
    // The care of the endpoint signs in again at its next check.
    await systemClock.wait(12_000);
  }
  for (const { id } of world.ready.companies) await world.touch(id);
  counters.add('platform restarted with expired cursors');
}

/** Resolves when the copy equals the platform, every delivery is worked and the analysts have read every change. */
export async function rest(world: World, millisMax: number): Promise<void> {
  const wanted = await Promise.all(world.ready.companies.map((_, index) => truthOf(world, index)));
  let last = '';
  let turn = 0;
  await until(
    millisMax,
    () => `not at rest ${millisMax / 1_000} s after the last fault: ${last}`,
    async () => {
      // Deliveries that failed are due again after minutes.
      turn += 1;
      if (turn % 4 === 0) await world.advance(600_000);
      const stored = await storedOf(world);
      const different = wanted.map(
        (truth, index) => differences(truth, stored.get(`c${index}`) ?? new Map()).length,
      );
      const [open] = await world.rows<{ events: number; changes: number; states: string }>(
        "SELECT (SELECT count(*)::int FROM webhook_inbox WHERE state IN ('pending', 'given_up')) AS events, (SELECT count(*)::int FROM changes) AS changes, (SELECT string_agg(concat_ws(' ', name, state, halted_code), ', ' ORDER BY name) FROM sources) AS states",
      );
      const read = [world.lines<{ seq?: number }>('read-x'), world.lines<{ seq?: number }>('read-y')].map(
        (lines) => lines.filter(({ seq }) => seq !== undefined).at(-1)?.seq ?? 0,
      );
      last = `records that differ: ${different.join(', ')}; events not worked: ${open?.events}; changes ${open?.changes}, read ${read.join(' and ')}; sources ${open?.states}`;
      const mayLose = !world.options.synchronous && world.promotions.length > 0;
      return (
        different.every((count) => count === 0) &&
        open?.events === 0 &&
        (mayLose || read.every((seq) => seq === open?.changes))
      );
    },
  );
}

async function storedOf(world: World): Promise<Map<string, Map<string, string>>> {
  const rows = await world.rows<{ source: string; id: string } & Record<string, string | null>>(
    'SELECT source, id, status, observed_at, committed_cents, raised_cents, name, email FROM roster',
  );
  const found = new Map<string, Map<string, string>>();
  for (const { source, id, status, observed_at, committed_cents, raised_cents, name, email } of rows) {
    const records = found.get(source) ?? new Map<string, string>();
    found.set(
      source,
      records.set(
        id,
        JSON.stringify([status, observed_at, Number(committed_cents), Number(raised_cents), name, email]),
      ),
    );
  }
  return found;
}

async function until(
  millisMax: number,
  missing: string | (() => string),
  isSo: () => Promise<boolean>,
): Promise<void> {
  const begun = systemClock.monotonic();
  while (!(await isSo().catch(() => false))) {
    if (systemClock.monotonic() - begun > millisMax)
      throw new Violation(typeof missing === 'string' ? missing : missing());
    await systemClock.wait(500);
  }
}
