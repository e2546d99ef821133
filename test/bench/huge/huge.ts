import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, urlOf, withClient } from '../../postgres/run-databases.js';
import { startPostgres } from '../../postgres/server.js';
import { onFreshDatabase } from '../sections/into-postgres.js';
import { startCompanies } from './companies-feed.js';
import { growthTable } from './growth-table.js';
import { type MirrorPlace, sqliteFile, tokensOf } from './mirror.js';
import { type Amount, describeNeeds, migrateStep, needsOf, refusalOf } from './needs.js';
import { apart, here, type RunnerParts } from './runner.js';
import { type Figure, listAgain, postgresSteps, type Step, type StepContext, sqliteSteps } from './steps.js';
import { bytesIn } from './watch.js';

export interface HugeOptions extends Amount {
  /**
   * Keeps mirrors and figures there; a run that was ended goes on with the step that it had not finished. With `postgres`, its
   * databases are kept on that server as well.
   */
  readonly keep: string | null;
  /** Whether commands are processes of their own. */
  readonly apart: boolean;
  /** A PostgreSQL to use; null starts one. */
  readonly postgres: string | null;
  /** How many sizes: the largest, and each before it a tenth of the next. */
  readonly sizes: number;
  readonly turns: number;
  /** Receives a line of progress. */
  say(line: string): void;
}

/** The smallest number of records worth a column. */
const recordsMin = 1_000;

/** Measures all sizes and returns the table. Throws a sentence when the disk has not enough room. */
export async function huge(options: HugeOptions): Promise<string> {
  const { keep, say } = options;
  const needs = needsOf(options);
  say(describeNeeds(options, needs));
  const folder = keep ?? mkdtempSync(join(tmpdir(), 'rosterd-huge-'));
  mkdirSync(folder, { recursive: true });
  try {
    const { bavail, bsize } = statfsSync(folder);
    const refusal = refusalOf(needs, bavail * bsize + bytesIn(folder), folder, options);
    if (refusal !== null) throw new Error(refusal);
    const figures: Figure[] = [];
    for (const records of sizesOf(options)) figures.push(...(await measureSize(options, records, folder)));
    return growthTable(figures);
  } finally {
    if (keep === null) rmSync(folder, { recursive: true, force: true });
  }
}

export function sizesOf({ records, sizes }: Pick<HugeOptions, 'records' | 'sizes'>): readonly number[] {
  const all = Array.from({ length: sizes }, (_, at) => Math.round(records / 10 ** (sizes - 1 - at)));
  return all.filter((size) => size >= recordsMin || size === records);
}

async function measureSize(options: HugeOptions, records: number, base: string): Promise<readonly Figure[]> {
  const folder = join(base, String(records));
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ledger = join(folder, 'figures.jsonl');
  const figures: Figure[] = !existsSync(ledger)
    ? []
    : readFileSync(ledger, 'utf8')
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Figure]));
  const { companies, databases, versions } = options;
  // A mirror belongs to the address that it was listed from, so a run that goes on needs the same one.
  const portFile = join(folder, 'port');
  const port = existsSync(portFile) ? Number(readFileSync(portFile, 'utf8')) : 0;
  const feed = await startCompanies(records, companies, options.apart, port);
  writeFileSync(portFile, new URL(feed.url).port);
  const versionsEach = Math.round(versions / options.records);
  const place: MirrorPlace = {
    folder,
    feedUrl: feed.url,
    companies,
    database: `sqlite:${join(folder, sqliteFile)}`,
  };
  const parts: RunnerParts = { cwd: folder, env: tokensOf(companies), folders: [folder], server: null };
  const runnerOf = options.apart ? apart : here;
  const perform = async (context: StepContext, steps: readonly Step[]) => {
    for (const step of steps) {
      const load = loadavg()[0]?.toFixed(1);
      options.say(`${records.toLocaleString('en-US')} on ${context.database}: ${step.name}, load ${load}`);
      const found = await step.run(context);
      for (const figure of found) {
        const whole = { ...figure, database: context.database, records, done: step.name };
        figures.push(whole);
        appendFileSync(ledger, `${JSON.stringify(whole)}\n`);
      }
    }
  };
  const chosen = (steps: readonly Step[]) => steps.filter(({ name }) => !options.without?.includes(name));
  const remaining = (database: string, steps: readonly Step[]) =>
    steps.filter(
      ({ name }) => !figures.some((figure) => figure.database === database && figure.done === name),
    );
  const common = { records, versionsEach, turns: options.turns };
  try {
    const sqlite = {
      ...common,
      place,
      database: 'sqlite',
      runner: runnerOf(parts),
      size: async () => bytesIn(folder) / 1e6,
    };
    const isCopied = databases.includes('postgres') && !options.without?.includes(migrateStep);
    // PostgreSQL gets its versions from the file, unless it is told not to.
    const wanted = databases.includes('sqlite')
      ? chosen(sqliteSteps)
      : sqliteSteps.slice(0, isCopied ? 2 : 0);
    const left = remaining('sqlite', wanted);
    if (left.length > 0 && left.length < wanted.length) await listAgain(sqlite);
    await perform(sqlite, left);
    if (databases.includes('postgres')) {
      const server = options.postgres === null ? await startPostgres() : null;
      try {
        const url = options.postgres ?? server?.url ?? '';
        for (const steps of postgresSteps(options.without ?? []).map(chosen)) {
          const left = remaining('postgres', steps);
          if (left.length === 0) continue;
          const kept = options.keep !== null && options.postgres !== null ? nameOf(records, steps) : null;
          const goesOn = left.length < steps.length;
          await onDatabase(url, kept, goesOn, async (target, isFilled) => {
            const { pid, data } = await serverOf(target);
            const runner = runnerOf({ ...parts, folders: [folder, data], server: pid });
            const context = {
              ...{ ...common, database: 'postgres', runner, size: () => sizeOf(target) },
              place: { ...place, database: target },
            };
            if (isFilled) await listAgain(context);
            // The first step fills a new database.
            await perform(
              context,
              isFilled ? left : steps.filter((step, at) => at === 0 || left.includes(step)),
            );
          });
        }
      } finally {
        await server?.close();
      }
    }
  } finally {
    await feed.close();
    if (options.keep === null) rmSync(folder, { recursive: true, force: true });
  }
  return figures;
}

/** The name of the database that the first of these steps fills. */
const nameOf = (records: number, [first]: readonly Step[]) =>
  `rosterd_huge_${records}_${first?.name.replaceAll(' ', '_')}`;

/**
 * Works on a new database, dropped afterwards. One with a name stays when the work fails or ends early; the next run goes on
 * with it if its first step was done.
 */
async function onDatabase(
  server: string,
  name: string | null,
  goesOn: boolean,
  work: (url: string, isFilled: boolean) => Promise<void>,
): Promise<void> {
  if (name === null) return await onFreshDatabase(server, (url) => work(url, false));
  const { rowCount } = await withClient(server, (client) =>
    client.query('SELECT FROM pg_database WHERE datname = $1', [name]),
  );
  const isFilled = goesOn && rowCount !== 0;
  if (!isFilled) await dropDatabase(server, name);
  await work(isFilled ? urlOf(server, name) : await createDatabase(server, name), isFilled);
  await dropDatabase(server, name);
}

async function dropDatabase(server: string, name: string): Promise<void> {
  await withClient(server, (client) => client.query(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`));
}

async function sizeOf(database: string): Promise<number> {
  return await withClient(database, async (client) => {
    const { rows } = await client.query<{ bytes: string }>(
      'SELECT pg_database_size(current_database()) AS bytes',
    );
    return Number(rows[0]?.bytes) / 1e6;
  });
}

async function serverOf(database: string): Promise<{ readonly pid: number; readonly data: string }> {
  return await withClient(database, async (client) => {
    const { rows } = await client.query<{ pid: number; data: string }>(
      `SELECT pg_backend_pid() AS pid, current_setting('data_directory') AS data`,
    );
    const [{ pid, data } = { pid: 0, data: '' }] = rows;
    // The parent of a backend is the server.
    const [, parent] = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return { pid: Number(parent), data };
  });
}
