import { parseArgs } from 'node:util';
import { startPlatform } from '../running-platform.js';
import { fuzz, roundSize } from './fuzz.js';

/*
 * Runs test/conformance/fuzz/fuzz.test.ts for as long as wanted. A failure names the round that reproduces it.
 *
 * npm run fuzz:platform -- --requests 50000 --seed 7
 * npm run fuzz:platform -- --seed 7 --round 93
 */
const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '50000' },
    seed: { type: 'string', default: '1' },
    round: { type: 'string' },
  },
});
const whole = (name: string, text: string): number => {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  process.stderr.write(`--${name} ${text} is no whole number\n`);
  process.exit(2);
};
const seed = whole('seed', values.seed);
const length = Math.ceil(whole('requests', values.requests) / roundSize);
const rounds =
  values.round === undefined ? Array.from({ length }, (_, round) => round) : [whole('round', values.round)];

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
