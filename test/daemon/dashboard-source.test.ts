import { expect, test } from 'vitest';
import { configFromObject } from '../../src/config/from-object.js';
import { dashboardSource } from '../../src/daemon/dashboard-source.js';
import { statusOf } from '../../src/daemon/status.js';
import { freshMirror, StandingClock, seedInvestment, seedSource } from '../store/support/mirror.js';

/** How often others get their turn while `work` is done. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await work();
  clearImmediate(next);
  return turns;
}

test('a page that asks several things of a file lets others have their turn between them', async () => {
  const clock = new StandingClock();
  const mirror = freshMirror(clock);
  seedSource(mirror, 1, { name: 'acme' });
  seedInvestment(mirror, 1, 'inv_1');
  const config = configFromObject(
    {
      platform: { baseUrl: 'http://127.0.0.1:9' },
      database: `sqlite:${mirror.file}`,
      sources: [{ name: 'acme', token: { env: 'TOKEN' } }],
    },
    { cwd: '/', env: { TOKEN: 'at_test_1' } },
  );
  const source = dashboardSource({
    ...{ config, clock, onTick: () => () => {}, quotaOf: async () => null },
    status: () => statusOf(config.database, clock, config),
  });
  const company = () => source.company('acme', 'co_1');
  expect(await company()).toMatchObject({ byStatus: [{ investments: 1 }], byDay: [{ investments: 1 }] });
  const opening = await turnsDuring(() => source.companies());
  expect(await turnsDuring(company)).toBeGreaterThanOrEqual(opening + 5);
});
