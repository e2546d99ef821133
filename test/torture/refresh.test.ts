import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Round, startTorture, steps, type Torture, wires } from './refresh-round.js';

let torture: Torture;
beforeAll(async () => {
  torture = await startTorture();
});
afterAll(() => torture.close());

/** Every step once before and once after, every trick of the wire in turn; `npm run torture -- --only refresh` plays all of them at random. */
const rounds: readonly Round[] = steps.flatMap((step, index) =>
  (['before', 'after'] as const).map((when, side) => ({
    ...{ step, when },
    wire: wires[(2 * index + side) % wires.length] ?? 'prompt',
  })),
);

test.each(rounds)(
  'CLIENT-11 OAUTH-19 killed $when "$step" with the answer $wire, the sign-in goes on',
  async (round) => {
    await expect(torture.round(round)).resolves.toBeUndefined();
  },
);

test.each(wires)('CLIENT-11 nobody is killed, the answer is %s: the sign-in goes on', async (wire) => {
  await expect(torture.round({ step: 'never', when: 'after', wire })).resolves.toBeUndefined();
});
