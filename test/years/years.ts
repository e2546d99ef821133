import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runYears } from './run-years.js';

/*
 * npm run simulate:years -- [--years N] [--seed S] [--seeds N]
 *
 * Virtual years of two companies, one seed after another. Prints what each quarter left and what grew or was wrong.
 */
const { values } = parseArgs({
  options: {
    years: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    quarter: { type: 'string', default: '91' },
  },
});
const days = Math.round(Number(values.years) * 365);
const first = Number(values.seed);
if (!(days >= 20) || !Number.isInteger(first) || !(Number(values.seeds) >= 1)) {
  process.stderr.write('usage: npm run simulate:years -- --years N --seed S --seeds N\n');
  process.exit(2);
}
let violations = 0;
for (let seed = first; seed < first + Number(values.seeds); seed += 1) {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-years-'));
  const begun = process.hrtime.bigint();
  const {
    violations: found,
    quarters,
    counts,
  } = await runYears({
    folder,
    days,
    seed,
    daysPerQuarter: Number(values.quarter),
    progress: (day) => {
      if (day % 50 === 0) process.stderr.write(`day ${day} of ${days}\n`);
    },
  });
  rmSync(folder, { recursive: true, force: true });
  violations += found.length;
  console.log(
    `seed ${seed}: ${days} days in ${Number((process.hrtime.bigint() - begun) / 1_000_000_000n)} s`,
  );
  for (const [
    at,
    { fileBytes, contentBytes, heapBytes, idleStatements, idleRequests, bounded },
  ] of quarters.entries())
    console.log(
      `  quarter ${at + 1}: file ${fileBytes}, content ${contentBytes}, heap ${heapBytes ?? '-'}, idle tick ${idleStatements} statements ${idleRequests} requests, ${JSON.stringify(bounded)}`,
    );
  console.log(`  ${JSON.stringify(counts)}`);
  for (const one of found.slice(0, 20)) console.log(`  VIOLATION ${one}`);
}
process.exitCode = violations === 0 ? 0 : 1;
