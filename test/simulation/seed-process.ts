import { Laboratory } from './run-seed.js';
import { settingOf } from './seed-processes.js';
import { trySeed } from './try-seed.js';

/* One of several processes that try seeds: it gets one seed at a time and ends when its parent is gone. */
const { mode, server, ...wish } = settingOf(process.argv[2]);
const laboratory = await Laboratory.open(mode, server);

// A signal from the terminal reaches the whole process group; the parent that assigns the seeds ends this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
process.on('message', async (seed: number) => {
  process.send?.(await trySeed(laboratory, seed, wish));
});
process.once('disconnect', () => void laboratory.close());
