import { expect, onTestFinished, test, vi } from 'vitest';
import { all } from '../../src/platform/state/statements.js';
import { company, type RunningPlatform, startPlatform } from '../conformance/running-platform.js';
import { foundSyndicate } from '../conformance/syndicate-life.js';

const month = 31 * 24 * 60 * 60 * 1000;
const second = 1000;
const email = 'ida@people.example';

const createSession = (world: RunningPlatform) =>
  world.post(`/offerings/${company(world).offerings[1]}/investment_sessions`, {
    token: company(world).token,
    body: { investment_session: { email, allocation_cents: 250_000 } },
  });

const createJoinSession = (world: RunningPlatform) => {
  const { path, installationToken } = foundSyndicate(world);
  return world.post(`${path}/join_sessions`, {
    token: installationToken,
    body: { join_session: { email } },
  });
};

const change = (world: RunningPlatform) => world.control('POST', '/churn', { changes: 1 });

test.each([
  [
    'expires investment sessions',
    createSession,
    'investment_sessions',
    `SELECT 1 FROM investment_sessions WHERE status = 'expired'`,
  ],
  [
    'expires join sessions',
    createJoinSession,
    'join_sessions',
    `SELECT 1 FROM join_sessions WHERE status = 'expired'`,
  ],
  ['publishes', change, 'feed', 'SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM publish_queue)'],
])('platform: it %s after that failed once, on a full disk for example', async (_, prepare, table, done) => {
  const world = await startPlatform({ limits: false, platform: { publishDelayMillis: 60_000 } });
  onTestFinished(() => world.close());
  const { state, logger } = world.services;
  const logged = vi.spyOn(logger, 'error');
  onTestFinished(() => logged.mockRestore());
  expect((await prepare(world)).status).toBeLessThan(300);
  expect(all(state, done)).toEqual([]);
  state.exec(
    `CREATE TRIGGER full BEFORE UPDATE ON ${table} BEGIN SELECT RAISE(FAIL, 'the disk is full'); END`,
  );
  world.clock.advance(month);
  await expect.poll(() => logged.mock.calls.length).toBe(1);
  state.exec('DROP TRIGGER full');
  await expect
    .poll(() => {
      world.clock.advance(second);
      return all(state, done);
    })
    .toHaveLength(1);
});
