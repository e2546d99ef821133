import { expect, onTestFinished, test } from 'vitest';
import { all } from '../../../src/platform/state/statements.js';
import {
  company,
  type RunningPlatform,
  startNewlySeeded,
  worldStart,
} from '../../conformance/running-platform.js';
import { manualClock } from '../../support/manual-clock.js';

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

test('sandbox: a cursor of an earlier run in memory is expired, also after as many changes', async () => {
  const read = async (sandbox: RunningPlatform, query: string) =>
    sandbox.get(`/investments?per_page=100${query}`, { token: company(sandbox).token });
  const first = await startNewlySeeded();
  await first.control('POST', '/churn', { changes: 5 });
  const { next_cursor: cursor } = (await read(first, '')).body.meta;
  await first.close();
  const second = await startNewlySeeded({ clock: manualClock(worldStart + 1000) });
  onTestFinished(() => second.close());
  expect((await read(second, `&cursor=${cursor}`)).status).toBe(410);
  await second.control('POST', '/churn', { changes: 50 });
  expect((await read(second, `&cursor=${cursor}`)).status).toBe(410);
});
