import { expect, test } from 'vitest';
import { Fault } from '../../src/domain/fault.js';
import { hours, source, worldWith } from './following-fixture.js';

test('a 429 that states no wait is repeated at growing intervals, not each second', async () => {
  const { world, follower } = await worldWith('Acme');
  world.fault = (call, after) => {
    if (after || call !== 'list') return;
    const retryAt = new Date(world.clock.now() + 1_000).toISOString() as never;
    throw new Fault('rate_limited', 'a gateway answered 429', { retryAt, waitUnstated: true });
  };
  await world.pass(follower, hours);
  world.application.calls.length = 0;
  await world.pass(follower, 2 * hours);
  expect(world.application.calls.length).toBeLessThan(10);
});

test('an account that lacks the scope for tokens fails its rule, and few requests are counted', async () => {
  const { world } = await worldWith();
  for (let n = 0; n < 40; n += 1) world.application.install(`co_${n}`, `Company ${n}`);
  const fault = new Fault('forbidden', 'no', { status: 403, type: 'insufficient_scope' });
  world.fault = (call, after) => {
    if (!after && call.startsWith('mint')) throw fault;
  };
  await world.settle(world.start());
  expect(world.errors.at(-1)).toBe(fault);
  expect([...world.store.rows.values()].filter(({ mints }) => mints > 0)).toHaveLength(4);
});

test('a token that another daemon stored for a refused one is not removed', async () => {
  const { world, follower, first } = await worldWith('Acme');
  world.application.refuseTokens(first);
  follower.refused.add(source('acme'));
  let newer: string | null = null;
  world.fault = (call, after) => {
    const row = world.row('acme');
    if (call !== `get ${first}` || !after || row === undefined) return;
    world.store.rows.set('acme', { ...row, mints: row.mints + 1 });
    newer = 'at_live_canary_newer';
    world.tokens.set(`installation/${first}`, newer);
  };
  await follower.turn(new AbortController().signal);
  expect(newer).not.toBeNull();
  expect(world.tokenOf(first)).toBe(newer);
});
