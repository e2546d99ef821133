import { startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { type Order, serveBare } from './platform-servers.js';

/*
 * The platform, or a bare server for comparison, as its own process: gets its role in a message and sends back its
 * address.
 */

process.once('message', async (order: Order) => {
  if (order.serve === 'bare') process.send?.((await serveBare(order.bodies)).url);
  else {
    const { ready } = await startSandbox({ companies: 1, records: order.records, limits: false });
    process.send?.(JSON.stringify(ready));
  }
});
process.on('disconnect', () => process.exit(0));
