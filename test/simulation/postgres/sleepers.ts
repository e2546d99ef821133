import type { Chance } from '../chance.js';
import type { Plan } from '../plan.js';
import { quotaTheme } from '../quota-judge.js';
import { front, some, told, within } from '../themes.js';

const second = 1_000;

/**
 * In some worlds, a second daemon joins, and the first one sleeps with a request in flight until it is considered dead and
 * its sources are taken over. It wakes with a page while the other one waits for its own, so the position of the
 * source has not moved and only the fence rejects that page. Drawn by itself, both faults almost never meet.
 */
export function withSleepers(plan: Plan, chance: Chance): Plan {
  if (plan.theme === quotaTheme || !chance.yes(0.2)) return plan;
  const begins = some(6, () => within(plan, chance, 0, 0.95));
  return {
    ...told(
      { ...plan, latencyMax: 2 * second, freedom: { ...plan.freedom, publishDelayMax: 0 } },
      begins.flatMap((at) => {
        const sleepsAt = at + chance.between(20, 30) * second;
        return [
          { at, act: { kind: 'rival', forMillis: 120 * second, clockAhead: 0 } as const },
          { at: sleepsAt - second, act: { kind: 'publish', what: 'change', times: 4 } as const },
          { at: sleepsAt, act: { kind: 'suspend', forMillis: chance.between(9, 25) * second } as const },
        ];
      }),
      [front(plan, 'slow', 0.7)],
    ),
    theme: 'a member of a fleet that sleeps',
  };
}
