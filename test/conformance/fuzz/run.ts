import { readOptions, whole } from '../../support/options.js';
import { startPlatform } from '../running-platform.js';
import { fuzz, roundSize } from './fuzz.js';

const { requests, seed, round } = readOptions({
  name: 'npm run fuzz:platform',
  about: 'Sends requests at random to the bundled platform. A failure names the round that reproduces it.',
  options: {
    requests: whole('about how many requests', 50_000, { least: 1 }),
    seed: whole('what is sent follows from it', 1),
    round: whole('this round alone', null),
  },
});
const rounds =
  round === null ? Array.from({ length: Math.ceil(requests / roundSize) }, (_, index) => index) : [round];

const world = await startPlatform({ limits: false, records: 24 });
try {
  const report = await fuzz(world, {
    seed,
    rounds,
    onRound: (round, { requests }) => {
      if (round % 100 === 99) process.stderr.write(`${requests} requests\n`);
    },
  });
  const never = [...report.asked].filter(([, { granted }]) => granted === 0).map(([id]) => id);
  process.stdout.write(
    `${JSON.stringify({ seed, requests: report.requests, kinds: report.kinds.size, never })}\n`,
  );
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  await world.close();
}
