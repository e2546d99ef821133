import { amount, choice, readOptions, several, whole } from '../../support/options.js';
import { connectAll } from './connect-all.js';
import { Crowd, type CrowdOptions } from './crowd.js';
import { firstHour, steadyHours } from './hours.js';
import { comeAndGo, startAgain } from './members.js';
import { pages } from './pages.js';
import { realTime } from './processes.js';
import { webhooksBeside } from './webhooks-beside.js';

const allParts = ['unlimited', 'steady', 'hour'] as const;
const { speed, hours, only, catalog, ...counts } = readOptions({
  name: 'npm run proof:crowd',
  about: `Ten thousand companies that installed an application, on three daemons with PostgreSQL, all of them processes.
Measures what docs/fleet.md states, in three parts:
  unlimited   connecting, shares, webhooks beside a large newcomer, take-over, start and pages, without limits
  steady      hours of reading the connected sources under the limits of the platform, in faster time
  hour        the first hour of connecting under these limits, in faster time`,
  options: {
    companies: whole('companies', 10_000, { least: 1 }),
    records: whole('records of each', 5),
    newcomer: whole('records of the large newcomer', 20_000),
    seed: whole('seed of the platform', 1),
    speed: amount('how much faster time passes', 20),
    hours: amount('of the steady part', 4),
    catalog: choice('companies, rounds, numbers and posts as well', ['on', 'off'], 'on'),
    only: several('these parts alone', allParts, allParts.join('|')),
  },
});
const options: CrowdOptions = { ...counts, catalog: catalog === 'on' };
const parts = new Set(only.length === 0 ? allParts : only);

if (parts.has('unlimited') || parts.has('steady')) {
  const crowd = await Crowd.start(options, false, realTime);
  try {
    await connectAll(crowd);
    if (parts.has('unlimited')) {
      await pages(crowd);
      await webhooksBeside(crowd);
      await comeAndGo(crowd);
      await startAgain(crowd);
    }
    await crowd.stopHosts();
    if (parts.has('steady')) await steadyHours(crowd, { speed, hours });
  } finally {
    await crowd.close();
  }
}
if (parts.has('hour')) await firstHour(options, speed);
