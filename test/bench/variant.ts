import { defined } from '../../src/domain/defined.js';
import { keepHeapLean } from '../../src/runtime/lean-heap.js';
import type { Variant } from './variants.js';

/*
 * One measurement as a process: `variant.ts NAME FEED_URL TURNS WARM_UP ROUNDS`, prints JSON. BENCH_DATABASE names
 * a database, BENCH_SECONDS a duration.
 */

// As the command line does, before it loads the program.
keepHeapLean();
const { runVariant } = await import('./variants.js');
const [name, baseUrl = '', turns, warmUp, rounds] = process.argv.slice(2);
const amount = { turns: Number(turns), warmUp: Number(warmUp), rounds: Number(rounds) };
const { BENCH_DATABASE: database, BENCH_SECONDS: seconds } = process.env;
console.log(
  JSON.stringify(
    await runVariant(name as Variant, baseUrl, {
      ...amount,
      ...defined({ database }),
      ...(seconds === undefined ? {} : { seconds: Number(seconds) }),
    }),
  ),
);
