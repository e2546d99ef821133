import type { Plan } from './plan.js';
import type { Laboratory } from './run-seed.js';
import type { Verdict } from './simulated-run.js';

/**
 * Returns the smallest part of a plan that still fails: removes whole classes of faults first, then single acts
 * and fronts.
 */
export async function shrink(
  laboratory: Laboratory,
  plan: Plan,
  invariant: string,
  runsMax = 150,
): Promise<Plan> {
  let small = plan;
  let runs = 0;
  const stillFails = async (candidate: Plan) => {
    runs += 1;
    return runs <= runsMax && invariantOf(await laboratory.run(candidate)) === invariant;
  };
  for (const name of plan.classes) {
    const without: Plan = {
      ...small,
      classes: small.classes.filter((one) => one !== name),
      fronts: small.fronts.filter(({ fault }) => fault !== name),
      acts: small.acts.filter(({ act }) => act.kind !== name),
    };
    if (await stillFails(without)) small = without;
  }
  for (let size = Math.ceil(small.acts.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < small.acts.length; from += size) {
      const without = {
        ...small,
        acts: small.acts.filter((_, index) => index < from || index >= from + size),
      };
      if (await stillFails(without)) small = without;
    }
  }
  for (const front of small.fronts) {
    const without = { ...small, fronts: small.fronts.filter((one) => one !== front) };
    if (await stillFails(without)) small = without;
  }
  for (const records of [0, 1, 3, 10]) {
    if (records < small.records && (await stillFails({ ...small, records }))) {
      small = { ...small, records };
      break;
    }
  }
  return small;
}

export function invariantOf({ violation }: Verdict): string | null {
  return violation === null ? null : (violation.split(':')[0] ?? violation);
}

/** Returns what a person needs to reproduce the failure. */
export function reportOf(mode: string, { seed, violation }: Verdict, small: Plan): string {
  return `seed ${seed}  mode ${mode}  ${violation}  shrunk to: ${storyOf(small)}`;
}

/** Returns the rest of the plan as one line, in order. */
export function storyOf(plan: Plan): string {
  const acts = plan.acts.map(({ act }) => ('what' in act ? `${act.kind} ${act.what}` : act.kind));
  const fronts = plan.fronts.map(({ fault, probability }) => `${fault}@${probability}`);
  return `${plan.records} records; ${[...fronts, ...acts].join(', ') || 'nothing at all'}`;
}
