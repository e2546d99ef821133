import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { configFrom } from '../../src/config/config-from.js';
import { settingsSchema } from '../../src/config/settings.js';
import { startEngine } from '../../src/daemon/engine.js';
import type { SourceName } from '../../src/domain/ids.js';
import { churn } from '../../src/platform/sandbox/control/churn.js';
import { startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { packageVersion } from '../../src/runtime/package-version.js';
import { seededRandom } from '../../src/runtime/random.js';
import { newestMigration } from '../../src/store/newest-migration.js';
import { forget, personOrInvestment } from '../../src/tasks/forget.js';
import { migrate } from '../../src/tasks/migrate.js';
import { createDatabase } from '../postgres/run-databases.js';
import { serverForRuns } from '../simulation/postgres/server-for-runs.js';
import { readOptions } from '../support/options.js';
import { writtenFolder } from './written.js';

readOptions({
  name: 'npm run fixtures:upgrade',
  about: `Writes test/upgrade/written-by-VERSION for the version in package.json: what this program leaves behind on both
databases. Run it once, on the commit that is tagged. The tests of upgrades find the folder by themselves.`,
  options: {},
});
const version = packageVersion();
const world = { seed: 7, companies: 2, records: 40 };
const into = writtenFolder(version);
if (existsSync(into)) throw new Error(`${into} exists: fixtures of a tagged version never change`);
const folder = mkdtempSync(join(tmpdir(), 'rosterd-fixtures-'));
const never = new AbortController().signal;
const random = seededRandom(7);

const dataFile = join(folder, 'platform.db');
const sandbox = await startSandbox({ ...world, dataFile, random });
const server = await serverForRuns();
try {
  const { apps, companies, users } = sandbox.ready;
  const [app, [copper, quiet]] = [apps[0], companies];
  const founder = users.find(({ id }) => id === quiet?.founder);
  if (app === undefined || copper === undefined || quiet === undefined || founder === undefined)
    throw new Error('the sandbox needs an application and two companies');
  const settings = {
    platform: { baseUrl: sandbox.url },
    database: 'sqlite:mirror.db',
    sources: [
      { name: 'copper', token: { env: 'COPPER_TOKEN' }, company: copper.id },
      {
        name: 'quiet',
        credentials: {
          file: 'credentials/quiet.json',
          clientId: app.clientId,
          clientSecret: { env: 'APP_SECRET' },
        },
        company: quiet.id,
      },
    ],
  };
  const env = { COPPER_TOKEN: copper.token, APP_SECRET: app.clientSecret };
  mkdirSync(join(folder, 'credentials'), { mode: 0o700 });
  const credentials = join(folder, 'credentials', 'quiet.json');
  writeFileSync(
    credentials,
    JSON.stringify({
      clientId: app.clientId,
      clientSecret: app.clientSecret,
      accessToken: founder.token,
      refreshToken: founder.refreshToken,
      expiresAt: null,
      scope: 'read:investments',
    }),
    { mode: 0o600 },
  );
  const config = configFrom(settingsSchema.parse(settings), { env, folderOf: () => folder });
  const engine = await startEngine({ config, clock: systemClock, random, logger: silentLogger });
  const sync = async () => {
    for (const { name } of settings.sources) await engine.sync.tick(name as SourceName, {});
  };
  await sync();
  churn(sandbox.services, 15, null, systemClock.now());
  await sync();
  await sync();
  const file = join(folder, 'mirror.db');
  const forgotten = look(file, 'SELECT id FROM roster WHERE name IS NOT NULL ORDER BY id LIMIT 1');
  await engine.close();
  await forget(config, personOrInvestment(forgotten), systemClock, never);
  const url = await createDatabase(server.url, `fixtures_${process.pid}`);
  const places = {
    from: { kind: 'sqlite', file },
    to: { kind: 'postgres', url, password: null },
  } as const;
  await migrate({ ...places, ledgerFile: null, dryRun: false, clock: systemClock, signal: never });
  const counts = {
    investments: Number(look(file, 'SELECT count(*) FROM investments')),
    changes: Number(look(file, 'SELECT count(*) FROM changes')),
  };
  const tables = JSON.stringify(await rowsOf(url));
  await sandbox.close();
  mkdirSync(into);
  const pack = (name: string, content: string | Buffer) =>
    writeFileSync(join(into, `${name}.gz`), gzipSync(content, { level: 9 }));
  pack('mirror.db', whole(file));
  pack('platform.db', whole(dataFile));
  pack('postgres.json', tables);
  const text = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  writeFileSync(join(into, 'config.json'), text(settings));
  writeFileSync(join(into, 'credentials.json'), text(JSON.parse(readFileSync(credentials, 'utf8'))));
  writeFileSync(
    join(into, 'environment.env'),
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  const at = new Date(systemClock.now() + 3_600_000).toISOString();
  const migrations = { sqlite: newestMigration('sqlite'), postgres: newestMigration('postgres') };
  writeFileSync(join(into, 'written.json'), text({ at, migrations, ...counts, forgotten, ...world }));
  console.log(`wrote ${into}: ${counts.investments} investments, ${counts.changes} changes`);
} finally {
  await sandbox.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}

function look(file: string, sql: string): string {
  const raw = new Sqlite(file, { readonly: true });
  try {
    return String(raw.prepare(sql).pluck().get());
  } finally {
    raw.close();
  }
}

/** Returns the content of a database as one file, without a log beside it. */
function whole(file: string): Buffer {
  const raw = new Sqlite(file);
  raw.pragma('wal_checkpoint(TRUNCATE)');
  raw.pragma('journal_mode = DELETE');
  raw.close();
  return readFileSync(file);
}

/** Returns the rows of every table except the ledger, which the migrations write, and the dictionary. */
async function rowsOf(url: string): Promise<Record<string, unknown[]>> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows: tables } = await client.query(
      `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
       WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND tablename NOT IN ('migrations', 'data_dictionary')
       ORDER BY 1`,
    );
    const found: Record<string, unknown[]> = {};
    for (const { name } of tables) {
      const { rows } = await client.query(`SELECT to_jsonb(t) AS row FROM ${name} t`);
      if (rows.length > 0) found[name] = rows.map(({ row }) => row);
    }
    return found;
  } finally {
    await client.end();
  }
}
