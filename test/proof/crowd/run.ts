import { parseArgs } from 'node:util';
import { connectAll } from './connect-all.js';
import { Crowd, type CrowdOptions } from './crowd.js';
import { firstHour, steadyHours } from './hours.js';
import { comeAndGo, startAgain } from './members.js';
import { pages } from './pages.js';
import { realTime } from './processes.js';
import { webhooksBeside } from './webhooks-beside.js';

/*
 * npm run proof:crowd: ten thousand companies that installed an application, on three daemons with PostgreSQL, all of
 * them processes. Measures what docs/fleet.md states.
 *
 *   --only unlimited   connecting, shares, webhooks beside a large newcomer, take-over, start and pages, without limits
 *   --only steady      hours of reading the connected sources under the limits of the platform, in faster time
 *   --only hour        the first hour of connecting under these limits, in faster time
 */
const { values } = parseArgs({
  options: {
    companies: { type: 'string', default: '10000' },
    records: { type: 'string', default: '5' },
    newcomer: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    speed: { type: 'string', default: '20' },
    hours: { type: 'string', default: '4' },
    catalog: { type: 'string', default: 'on' },
    only: { type: 'string', default: 'unlimited,steady,hour' },
  },
});
const options: CrowdOptions = {
  companies: Number(values.companies),
  records: Number(values.records),
  newcomer: Number(values.newcomer),
  seed: Number(values.seed),
  catalog: values.catalog === 'on',
};
const speed = Number(values.speed);
const parts = new Set(values.only.split(','));

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
    if (parts.has('steady')) await steadyHours(crowd, { speed, hours: Number(values.hours) });
  } finally {
    await crowd.close();
  }
}
if (parts.has('hour')) await firstHour(options, speed);
