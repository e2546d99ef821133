import { expect, test } from 'vitest';
import { startNewlySeeded } from '../../conformance/running-platform.js';

test('sandbox: the same seed produces the same world, another seed a different one', async () => {
  const [one, two, other] = await Promise.all([
    startNewlySeeded(),
    startNewlySeeded(),
    startNewlySeeded({ seed: 2 }),
  ]);
  expect(one.world.document).toEqual(two.world.document);
  expect(other.world.document).not.toEqual(one.world.document);
  expect(one.url).not.toBe(two.url);
  await Promise.all([one.close(), two.close(), other.close()]);
});
