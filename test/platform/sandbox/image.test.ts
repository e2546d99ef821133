import { expect, onTestFinished, test } from 'vitest';
import { all, run } from '../../../src/platform/state/statements.js';
import { type RunningPlatform, startNewlySeeded } from '../../conformance/running-platform.js';

async function started(options?: Parameters<typeof startNewlySeeded>[0]): Promise<RunningPlatform> {
  const world = await startNewlySeeded(options);
  onTestFinished(() => world.close());
  return world;
}

/** Returns the rows of every table. */
function rowsOf({ services: { state } }: RunningPlatform): Record<string, readonly unknown[]> {
  const tables = all<{ name: string }>(
    state,
    `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`,
  );
  return Object.fromEntries(tables.map(({ name }) => [name, all(state, `SELECT * FROM "${name}"`)]));
}

/** The feed of a reset world continues after the end of the one before. */
function withoutPositions({ feed, ledger, ...tables }: ReturnType<typeof rowsOf>) {
  return { ...tables, ledger: (ledger as readonly { seq: number }[]).map(({ seq, ...row }) => row) };
}

test('sandbox: a copy of an image has the rows and the ready document of the seeded world', async () => {
  const seeded = await started();
  const copy = await started({ image: seeded.services.state.serialize() });
  expect(rowsOf(copy)).toEqual(rowsOf(seeded));
  const known = ({ ready: { baseUrl, control, ...document } }: RunningPlatform) => document;
  expect(known(copy)).toEqual(known(seeded));
});

test('sandbox: a write to a copy changes neither the image nor another copy, and a reset seeds again', async () => {
  const seeded = await started();
  const image = seeded.services.state.serialize();
  const [one, other] = [await started({ image }), await started({ image })];
  run(one.services.state, 'DELETE FROM company_updates');
  expect(rowsOf(other)).toEqual(rowsOf(seeded));
  one.world.reset();
  expect(withoutPositions(rowsOf(one))).toEqual(withoutPositions(rowsOf(seeded)));
  expect(rowsOf(await started({ image }))).toEqual(rowsOf(seeded));
});
