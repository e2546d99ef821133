import { Laboratory } from './run-seed.js';
import { settingOf } from './seed-processes.js';
import { trySeed } from './try-seed.js';

/* One of several processes that try seeds: told which one at a time, until nobody is there to tell it. */
const { mode, server, ...wish } = settingOf(process.argv[2]);
const laboratory = await Laboratory.open(mode, server);

// A signal from the terminal reaches the whole group; the process that hands out the seeds ends it in good order.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
process.on('message', async (seed: number) => {
  process.send?.(await trySeed(laboratory, seed, wish));
});
process.once('disconnect', () => void laboratory.close());
