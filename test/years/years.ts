import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../src/daemon/logging.js';
import { systemClock } from '../../src/runtime/clock.js';
import { findPrograms, toldPgAmcheck, toldSqldiff } from '../judges/outside-programs.js';
import { createDatabase, dropDatabasesOf, runName } from '../postgres/run-databases.js';
import { serverForRuns } from '../simulation/postgres/server-for-runs.js';
import { amount, choice, readOptions, refuse, whole } from '../support/options.js';
import { planted } from './planted.js';
import { PostgresExam } from './postgres-exam.js';
import { runYears, type YearsAsk } from './run-years.js';
import { SqliteExam } from './sqlite-exam.js';

const options = readOptions({
  name: 'npm run simulate:years',
  about: `Virtual years of two companies, one seed after another. Prints what each quarter left and what grew or was wrong, and
errors that were logged to standard error. PostgreSQL is a server of its own, or the one that ROSTERD_TEST_POSTGRES names
to a superuser. Where they are installed, pg_amcheck checks it at the end, and sqldiff compares what the mirror shows with a mirror
listed then. With a planted fault it succeeds if the judge notices that fault in every story; without one, growth is judged from three
quarters on.`,
  options: {
    database: choice('where the mirror is', ['sqlite', 'postgres'], 'sqlite'),
    years: amount('how long', 2),
    quarter: whole('days between two measurements', 91, { least: 1, placeholder: 'DAYS' }),
    seed: whole('the first story', 1),
    seeds: whole('how many stories', 1, { least: 1 }),
    planted: choice('a fault for the judge to notice', Object.keys(planted), null),
  },
});
const days = Math.round(options.years * 365);
const onPostgres = options.database === 'postgres';
if (days < 20)
  refuse({ name: 'npm run simulate:years' }, `${days} days are too few for the story, which needs 20`);
const plant = options.planted === null ? null : (planted[options.planted] ?? null);
const lastMeasured = Math.floor(days / options.quarter) * options.quarter;
if (plant !== null && lastMeasured < plant.fromDay)
  refuse(
    { name: 'npm run simulate:years' },
    `the last measurement in ${days} days is on day ${lastMeasured}, and "${options.planted}" shows from day ${plant.fromDay} on: name more --years or a shorter --quarter`,
  );
const server = onPostgres ? await serverForRuns() : null;
const programs = findPrograms(process.env.PATH ?? '');
if (onPostgres) console.log(toldPgAmcheck(programs));
console.log(toldSqldiff(programs));
const run = runName();
const examOf =
  (folder: string, seed: number): YearsAsk['exam'] =>
  async (from) =>
    server === null
      ? new SqliteExam(folder, from)
      : PostgresExam.open(await createDatabase(server.url, `${run}_${seed}`), from, programs.pgAmcheck);
const logger = createLogger({
  level: 'error',
  format: 'json',
  stream: process.stderr,
  color: false,
  clock: systemClock,
});
let violations = 0;
let unnoticed = 0;
for (let { seed } = options; seed < options.seed + options.seeds; seed += 1) {
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
    daysPerQuarter: options.quarter,
    planted: plant?.fault ?? {},
    sqldiff: programs.sqldiff,
    logger,
    progress: (day) => {
      if (day % 50 === 0) process.stderr.write(`day ${day} of ${days}\n`);
    },
  });
  rmSync(folder, { recursive: true, force: true });
  violations += found.length;
  if (plant !== null && !found.some((one) => one.includes(plant.shows))) unnoticed += 1;
  console.log(
    `seed ${seed}, ${options.database}: ${days} days in ${Number((process.hrtime.bigint() - begun) / 1_000_000_000n)} s`,
  );
  for (const [
    at,
    { fileBytes, contentBytes, heapBytes, idleStatements, idleRequests, overdue, bounded },
  ] of quarters.entries())
    console.log(
      `  quarter ${at + 1}: file ${fileBytes}, content ${contentBytes}, heap ${heapBytes ?? '-'}, idle tick ${idleStatements} statements ${idleRequests} requests, overdue ${JSON.stringify(overdue)}, ${JSON.stringify(bounded)}`,
    );
  console.log(`  ${JSON.stringify(counts)}`);
  for (const one of found) console.log(`  VIOLATION ${one}`);
  console.log(`  ${found.length} violations`);
}
if (server !== null) {
  await dropDatabasesOf(server.url, run);
  await server.close();
}
if (plant !== null)
  console.log(
    unnoticed === 0
      ? `noticed: ${options.planted}`
      : `not noticed in ${unnoticed} of ${options.seeds} stories`,
  );
process.exitCode = (plant === null ? violations : unnoticed) === 0 ? 0 : 1;
