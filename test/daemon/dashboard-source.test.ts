import { expect, onTestFinished, test } from 'vitest';
import { configFromObject } from '../../src/config/from-object.js';
import { dashboardSource } from '../../src/daemon/dashboard-source.js';
import { listSources } from '../../src/reading/sources.js';
import { statusOf } from '../../src/reading/status.js';
import { openReadings } from '../../src/store/reads/open-readings.js';
import { freshMirror, StandingClock, seedInvestment, seedSource } from '../store/support/mirror.js';

test('the dashboard of a daemon reads the mirror in a child process', async () => {
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
  const readings = await openReadings(config.database, clock);
  onTestFinished(() => readings.close());
  const source = dashboardSource({
    config,
    clock,
    firstSource: () => 'acme',
    onTick: () => () => {},
    quotaOf: async () => null,
    list: (wanted) => listSources(config.database, clock, config, [], wanted),
    show: async () => null,
    read: readings.read,
    status: () => statusOf(config.database, clock, config),
  });
  expect(await source.company('acme', 'co_1', new AbortController().signal)).toMatchObject({
    byStatus: [{ investments: 1 }],
    byDay: [{ investments: 1 }],
  });
  expect(await source.companies()).toMatchObject([{ source: 'acme' }]);
});
