import { isDeepStrictEqual, parseArgs } from 'node:util';
import { bootstrapUnderFire } from './bootstrap.js';

/*
 * Runs the bootstrap of test/proof/proof.test.ts at full size.
 *
 * npm run proof:bootstrap -- --records 250000 --kills 10
 */
const { values } = parseArgs({
  options: { records: { type: 'string', default: '250000' }, kills: { type: 'string', default: '10' } },
});
const { held, truth, ...facts } = await bootstrapUnderFire({
  records: Number(values.records),
  perPage: 100,
  kills: Number(values.kills),
  onProgress: (text) => process.stderr.write(`${text}\n`),
});
const complete = isDeepStrictEqual(held, truth);
process.stdout.write(`${JSON.stringify({ rows: held.length, complete, ...facts })}\n`);
process.exitCode =
  complete && facts.pagesTwice <= facts.kills && facts.busiestWindow <= 1000 && facts.refused === 0 ? 0 : 1;
