import { runVariant, type Variant } from './variants.js';

/* One measurement as a process: `variant.ts NAME FEED_URL TURNS WARM_UP ROUNDS`, prints JSON. A database stands in BENCH_DATABASE. */

const [name, baseUrl = '', turns, warmUp, rounds] = process.argv.slice(2);
const amount = { turns: Number(turns), warmUp: Number(warmUp), rounds: Number(rounds) };
const database = process.env.BENCH_DATABASE;
console.log(
  JSON.stringify(
    await runVariant(name as Variant, baseUrl, {
      ...amount,
      ...(database === undefined ? {} : { database }),
    }),
  ),
);
