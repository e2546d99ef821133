import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createLogger } from '../../src/daemon/logging.js';
import { systemClock } from '../../src/runtime/clock.js';
import { createDatabase, dropDatabasesOf, runName } from '../postgres/run-databases.js';
import { serverForRuns } from '../simulation/postgres/server-for-runs.js';
import { planted } from './planted.js';
import { PostgresExam } from './postgres-exam.js';
import { runYears, type YearsAsk } from './run-years.js';
import { SqliteExam } from './sqlite-exam.js';

/*
 * npm run simulate:years -- [--database sqlite|postgres] [--years N] [--quarter DAYS] [--seed S] [--seeds N] [--planted FAULT]
 *
 * Virtual years of two companies, one seed after another. Prints what each quarter left and what grew or was wrong,
 * and errors that were logged to standard error. PostgreSQL is a server of its own, or the one that ROSTERD_TEST_POSTGRES names to a superuser. With a planted fault
 * (scrub, history, ticks, budgets) it succeeds if the judge notices it; growth is judged from three quarters on.
 */
const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    years: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    quarter: { type: 'string', default: '91' },
    planted: { type: 'string' },
  },
});
const days = Math.round(Number(values.years) * 365);
const first = Number(values.seed);
const onPostgres = values.database === 'postgres';
if (
  (!onPostgres && values.database !== 'sqlite') ||
  (values.planted !== undefined && planted[values.planted] === undefined) ||
  !(days >= 20) ||
  !Number.isInteger(first) ||
  !(Number(values.seeds) >= 1)
) {
  process.stderr.write(
    'usage: npm run simulate:years -- --database sqlite|postgres --years N --quarter DAYS --seed S --seeds N --planted FAULT\n',
  );
  process.exit(2);
}
if (values.planted !== undefined && days < 3 * Number(values.quarter)) {
  process.stderr.write(
    `${days} days are fewer than three quarters of ${values.quarter} days, and growth is judged from the third on: name more --years or a shorter --quarter\n`,
  );
  process.exit(2);
}
const server = onPostgres ? await serverForRuns() : null;
const run = runName();
const examOf =
  (folder: string, seed: number): YearsAsk['exam'] =>
  async (from) =>
    server === null
      ? new SqliteExam(folder, from)
      : PostgresExam.open(await createDatabase(server.url, `${run}_${seed}`), from);
const logger = createLogger({
  level: 'error',
  format: 'json',
  stream: process.stderr,
  color: false,
  clock: systemClock,
});
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
    exam: examOf(folder, seed),
    days,
    seed,
    daysPerQuarter: Number(values.quarter),
    planted: planted[values.planted ?? ''] ?? {},
    logger,
    progress: (day) => {
      if (day % 50 === 0) process.stderr.write(`day ${day} of ${days}\n`);
    },
  });
  rmSync(folder, { recursive: true, force: true });
  violations += found.length;
  console.log(
    `seed ${seed}, ${values.database}: ${days} days in ${Number((process.hrtime.bigint() - begun) / 1_000_000_000n)} s`,
  );
  for (const [
    at,
    { fileBytes, contentBytes, heapBytes, idleStatements, idleRequests, bounded },
  ] of quarters.entries())
    console.log(
      `  quarter ${at + 1}: file ${fileBytes}, content ${contentBytes}, heap ${heapBytes ?? '-'}, idle tick ${idleStatements} statements ${idleRequests} requests, ${JSON.stringify(bounded)}`,
    );
  console.log(`  ${JSON.stringify(counts)}`);
  for (const one of found) console.log(`  VIOLATION ${one}`);
  console.log(`  ${found.length} violations`);
}
if (server !== null) {
  await dropDatabasesOf(server.url, run);
  await server.close();
}
process.exitCode = violations > 0 === (values.planted !== undefined) ? 0 : 1;
