import { startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { type Order, serveBare } from './platform-servers.js';

/* The platform, or a bare server to hold beside it, as a process of its own: told what to be, it tells where it is. */

process.once('message', async (order: Order) => {
  if (order.serve === 'bare') process.send?.((await serveBare(order.bodies)).url);
  else {
    const { ready } = await startSandbox({ companies: 1, records: order.records, limits: false });
    process.send?.(JSON.stringify(ready));
  }
});
process.on('disconnect', () => process.exit(0));
