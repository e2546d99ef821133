import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Round, startTorture, steps, type Torture, wires } from './refresh-round.js';

let torture: Torture;
beforeAll(async () => {
  torture = await startTorture();
});
afterAll(() => torture.close());

/**
 * Every step once before and once after, with every network fault in turn; `npm run torture -- --only refresh`
 * plays random combinations.
 */
const rounds: readonly Round[] = steps.flatMap((step, index) =>
  (['before', 'after'] as const).map((when, side) => ({
    step,
    when,
    wire: wires[(2 * index + side) % wires.length] ?? 'prompt',
  })),
);

test.each(rounds)(
  'CLIENT-11 OAUTH-19 a process killed $when "$step" with the response $wire keeps its sign-in',
  async (round) => {
    await expect(torture.round(round)).resolves.toBeUndefined();
  },
);

test.each(wires)(
  'CLIENT-11 a refresh that nothing kills keeps its sign-in with the response %s',
  async (wire) => {
    await expect(torture.round({ step: 'never', when: 'after', wire })).resolves.toBeUndefined();
  },
);
