import { expect, onTestFinished, test } from 'vitest';
import { all } from '../../../src/platform/state/statements.js';
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

test('sandbox: a reset keeps the moved clock in the data file until it commits its world', async () => {
  const sandbox = await startNewlySeeded();
  onTestFinished(() => sandbox.close());
  const stored = () => all(sandbox.services.state, 'SELECT offset_millis AS offset FROM sandbox');
  sandbox.clock.advance(3_600_000);
  const atTheMove: unknown[] = [];
  sandbox.clock.onMove(() => atTheMove.push(stored()));
  sandbox.world.reset();
  expect(atTheMove).toEqual([[{ offset: 3_600_000 }]]);
  expect(stored()).toEqual([{ offset: 0 }]);
  sandbox.clock.advance(1_000);
  expect(stored()).toEqual([{ offset: 1_000 }]);
});
