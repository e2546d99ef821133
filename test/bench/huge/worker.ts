import { keepHeapLean } from '../../../src/runtime/lean-heap.js';
import type { WorkOrder } from './work.js';

/** One kind of work as a process: gets its order in a message and sends the result. */
// As the command line does, before it loads the program.
keepHeapLean();
const { doWork } = await import('./work.js');
process.once('message', async (order: WorkOrder) => {
  process.send?.(await doWork(order), () => process.exit(0));
});
