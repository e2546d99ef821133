import { runEdge } from './edge.js';
import { runGuard } from './guard.js';
import type { Order } from './orders.js';
import { runReader } from './reader.js';
import { runWire } from './wire.js';

/* The entry of the processes on the hosts that are not rosterd: `role.cjs '{"role": …}'`. Each ends with its standard input. */
const order = JSON.parse(process.argv[2] ?? '{}') as Order;
switch (order.role) {
  case 'wire':
    void runWire(order);
    break;
  case 'edge':
    void runEdge(order);
    break;
  case 'reader':
    void runReader(order);
    break;
  case 'guard':
    void runGuard();
}
