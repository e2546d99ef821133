import { keepHeapLean } from '../../../src/runtime/lean-heap.js';
import type { Order, Reply } from './messages.js';

/* One part of a live measurement as a process: `start-part.ts` forks it, and it ends with its parent. */

type Methods = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;
type Parts = Readonly<Record<string, (options: object) => Promise<Methods>>>;

let running: Methods | undefined;

const send = (reply: Reply) => process.send?.(reply);

process.on('message', async (order: Order) => {
  const no = 'no' in order ? order.no : null;
  try {
    if ('start' in order) {
      // As the command line does, before it loads the program.
      if (order.start === 'daemon') keepHeapLean();
      const { parts } = await import('./index.js');
      running = await (parts as unknown as Parts)[order.start]?.(order.options);
      send({ started: true });
    } else send({ no: order.no, value: await running?.[order.method]?.(...order.args) });
  } catch (error) {
    send({ no, problem: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
process.on('disconnect', () => process.exit(0));
