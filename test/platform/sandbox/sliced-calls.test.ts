import { afterEach, beforeEach, expect, test } from 'vitest';
import { Problem } from '../../../src/platform/http/problem.js';
import { SlicedCalls } from '../../../src/platform/sandbox/control/sliced-calls.js';
import { all } from '../../../src/platform/state/statements.js';
import {
  type Answered,
  company,
  type RunningPlatform,
  startPlatform,
} from '../../conformance/running-platform.js';

let world: RunningPlatform;
beforeEach(async () => {
  world = await startPlatform();
});
afterEach(() => world.close());

/** More than any machine changes before another request gets its answer. */
const many = 100_000;

/** Calls the function in a turn of the event loop after the first event of the platform. */
const afterFirstEvent = <Result>(act: () => Promise<Result>): Promise<Result> =>
  new Promise((resolve, reject) => {
    let first = true;
    world.services.events.subscribe(() => {
      if (first) setImmediate(() => act().then(resolve, reject));
      first = false;
    });
  });

test.each([
  ['/churn', { changes: many }],
  ['/investments', { count: many }],
])(
  'control: while %s makes many changes, the sandbox answers others; a reset ends it',
  async (path, body) => {
    const records = async () =>
      (await world.get('/investments?per_page=100', { token: company(world).token })).body.data;
    const seeded = await records();
    const others = afterFirstEvent(async () => {
      const read = await world.get('/investments', { token: company(world).token });
      return { read, reset: await world.control('POST', '/reset') };
    });
    const call = await world.control('POST', path, { company: company(world).id, ...body });
    const { read, reset } = await others;
    expect([read.status, reset.status, call.status]).toEqual([200, 200, 409]);
    const { error } = call.body;
    const { ids } = error.details as { ids: string[] };
    expect(ids.length).toBeGreaterThan(0);
    expect(ids.length).toBeLessThan(many);
    expect(error.message).toBe(`The sandbox was reset. ${ids.length} of ${many} changes were made.`);
    // Nothing of the call reached the world after the reset.
    expect(await records()).toEqual(seeded);
    const next = await world.control('POST', path, {
      company: company(world).id,
      [Object.keys(body)[0] ?? '']: 1,
    });
    expect(next.body.ids).toHaveLength(1);
  },
);

test('control: a sandbox that closes ends a call with many changes before it closes its database', async () => {
  const errors: unknown[] = [];
  const logger = { ...world.services.logger, error: (...line: unknown[]) => errors.push(line) };
  Object.assign(world.services, { logger });
  const call: Promise<Answered | null> = world.control('POST', '/churn', { changes: many }).catch(() => null);
  await afterFirstEvent(() => world.close());
  expect(await call).toBeNull();
  expect(errors).toEqual([]);
});

test('control: many changes are published in the order of their ids, and all of them before the answer', async () => {
  const { body } = await world.control('POST', '/investments', { company: company(world).id, count: 120 });
  const { ids } = body as { ids: string[] };
  expect(new Set(ids).size).toBe(120);
  const published = all<{ id: string }>(
    world.services.state,
    `SELECT i.id FROM ledger l JOIN investments i ON i.no = l.investment_no
     WHERE l.audience = 'investor' ORDER BY l.seq DESC LIMIT 120`,
  );
  expect(published.map(({ id }) => id).reverse()).toEqual(ids);
});

test('control: others get their turn between slices, and what a refused slice changed is undone', async () => {
  const { state } = world.services;
  const calls = new SlicedCalls(world.services);
  state.exec('CREATE TABLE made (no INTEGER) STRICT');
  let turns = 0;
  let done = false;
  const others = (async () => {
    for (; !done; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  })();
  const seen = new Set<number>();
  let no = 0;
  const change = () => {
    no += 1;
    seen.add(turns);
    state.prepare('INSERT INTO made VALUES (?)').run(no);
    if (no === 170) throw new Problem(409, 'conflict', 'No round.', { details: { round: 1 } });
    return `inv_${no}`;
  };
  const refused = await calls.run(500, change).catch((error: unknown) => error);
  done = true;
  await others;
  expect(seen.size).toBe(9);
  expect(refused).toMatchObject({
    status: 409,
    message: 'No round. 160 of 500 changes were made.',
    about: { details: { round: 1, ids: Array.from({ length: 160 }, (_, index) => `inv_${index + 1}`) } },
  });
  expect(state.prepare('SELECT count(*) AS rows FROM made').get()).toEqual({ rows: 160 });
  // In its first slice, a call does everything or nothing, and the problem is that of the change.
  no = 150;
  await expect(calls.run(500, change)).rejects.toMatchObject({ message: 'No round.' });
  expect(state.prepare('SELECT count(*) AS rows FROM made').get()).toEqual({ rows: 160 });
});
