import { isDeepStrictEqual } from 'node:util';
import { readOptions, whole } from '../support/options.js';
import { bootstrapUnderFire } from './bootstrap.js';

const { records, kills } = readOptions({
  name: 'npm run proof:bootstrap',
  about: 'Runs the bootstrap of test/proof/proof.test.ts at full size.',
  options: {
    records: whole('records of the listing', 250_000, { least: 1 }),
    kills: whole('kills meanwhile', 10),
  },
});
const { held, truth, ...facts } = await bootstrapUnderFire({
  records,
  perPage: 100,
  kills,
  onProgress: (text) => process.stderr.write(`${text}\n`),
});
const complete = isDeepStrictEqual(held, truth);
process.stdout.write(`${JSON.stringify({ rows: held.length, complete, ...facts })}\n`);
process.exitCode =
  complete && facts.pagesTwice <= facts.kills && facts.busiestWindow <= 1000 && facts.refused === 0 ? 0 : 1;
