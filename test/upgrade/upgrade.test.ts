import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import Sqlite from 'better-sqlite3';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import type { WireFetch } from '../../src/client/fetch/fetch.js';
import { configFrom } from '../../src/config/config-from.js';
import { settingsSchema } from '../../src/config/settings.js';
import { startEngine } from '../../src/daemon/engine.js';
import type { SourceName } from '../../src/domain/ids.js';
import { contentFields } from '../../src/domain/investment.js';
import { type Sandbox, startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { statusOf } from '../../src/reading/status.js';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { silentLogger } from '../../src/runtime/logger.js';
import { migratePostgres } from '../../src/store/dialect/postgres/migrate.js';
import { openPostgres } from '../../src/store/dialect/postgres/open.js';
import { shippedMigrations } from '../../src/store/migrate.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { tempFolder } from '../store/temp-folder.js';
import { testRandom } from '../support/chance.js';

const written = fileURLToPath(new URL('./written-by-0.1.0/', import.meta.url));
const unpacked = (name: string) => gunzipSync(readFileSync(join(written, `${name}.gz`)));
/** The last migration of 0.1.0 on PostgreSQL. */
const lastMigration = 6;

/** Starts an hour after the files were written: stored cursors and tokens expire. */
const offset = Date.parse('2026-11-23T09:36:00.000Z') - systemClock.now();
const clock: Clock = { ...systemClock, now: () => systemClock.now() + offset };

interface Upgraded {
  readonly folder: string;
  readonly database: string;
  /** Runs one statement on the mirror and returns its rows. */
  readonly rows: (sql: string) => Promise<readonly Record<string, unknown>[]>;
}

const databases: Readonly<Record<string, (folder: string) => Promise<Omit<Upgraded, 'folder'>>>> = {
  SQLite: async (folder) => {
    const file = join(folder, 'mirror.db');
    writeFileSync(file, unpacked('mirror.db'), { mode: 0o600 });
    return {
      database: 'sqlite:mirror.db',
      rows: async (sql) => {
        const db = new Sqlite(file, { readonly: true });
        try {
          return db.prepare(sql).all() as Record<string, unknown>[];
        } finally {
          db.close();
        }
      },
    };
  },
  PostgreSQL: async () => {
    const { url } = await freshDatabase();
    const postgres = await openPostgres(url);
    const migrations = shippedMigrations('postgres').filter(({ number }) => number <= lastMigration);
    await migratePostgres(postgres, { clock, version: '0.1.0', migrations });
    await postgres.close();
    const client = new pg.Client(url);
    await client.connect();
    onTestFinished(() => client.end());
    await fill(client, JSON.parse(unpacked('postgres.json').toString()));
    return { database: url, rows: async (sql) => (await client.query(sql)).rows };
  },
};

/** Puts the rows in as they were, past triggers, and sets the counters behind them. */
async function fill(client: pg.Client, tables: Readonly<Record<string, readonly object[]>>): Promise<void> {
  await client.query('SET session_replication_role = replica');
  for (const [table, rows] of Object.entries(tables)) {
    await client.query(`DELETE FROM ${table}`);
    await client.query(
      `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $1)`,
      [JSON.stringify(rows)],
    );
  }
  await client.query('SET session_replication_role = DEFAULT');
  const { rows: identities } = await client.query(
    `SELECT format('%I.%I', table_schema, table_name) AS name, column_name AS counted
     FROM information_schema.columns WHERE is_identity = 'YES' AND table_schema IN ('public', 'rosterd_identity')`,
  );
  for (const { name, counted } of identities)
    await client.query(
      `SELECT setval(pg_get_serial_sequence($1, $2), (SELECT coalesce(max(${counted}), 0) + 1 FROM ${name}), false)`,
      [name, counted],
    );
}

type FeedRow = Readonly<Record<string, unknown>>;

/** Returns the columns that `before` and `after` of a change have. */
const valuesNamed = ({ before, after }: FeedRow) =>
  [before, after].map((text) => (text === null ? null : Object.keys(JSON.parse(String(text)))));

/** Returns the columns that they should have. */
function valuesExpected({ kind, fields }: FeedRow) {
  const named = (JSON.parse(String(fields)) as string[]).filter((name) => !name.startsWith('identity.'));
  if (kind === 'snapshot') return [null, null];
  if (kind === 'added') return [null, contentFields];
  return kind === 'removed' ? [contentFields, null] : [named, named];
}

async function sandbox(folder: string): Promise<Sandbox> {
  const dataFile = join(folder, 'platform.db');
  writeFileSync(dataFile, unpacked('platform.db'), { mode: 0o600 });
  const random = testRandom();
  const running = await startSandbox({ dataFile, seed: 7, companies: 2, records: 40, clock, random });
  onTestFinished(() => running.close());
  return running;
}

/** The configuration of 0.1.0, with the database of this test. */
const settingsOf = (database: string | undefined) =>
  settingsSchema.parse({ ...JSON.parse(readFileSync(join(written, 'config.json'), 'utf8')), database });

/** The environment of 0.1.0, as a shell would load it. */
const env = Object.fromEntries(
  readFileSync(join(written, 'environment.env'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('=') as [string, string]),
);

test.each(Object.keys(databases))(
  'a mirror, credentials and configuration that 0.1.0 wrote: this version follows on from the stored cursors (%s)',
  async (database) => {
    const folder = tempFolder();
    const { url } = await sandbox(folder);
    const mirror = await databases[database]?.(folder);
    if (mirror === undefined) throw new Error(`no ${database}`);
    const { rows } = mirror;
    mkdirSync(join(folder, 'credentials'), { mode: 0o700 });
    const credentials = join(folder, 'credentials', 'quiet.json');
    writeFileSync(credentials, readFileSync(join(written, 'credentials.json')));
    chmodSync(credentials, 0o600);
    const settings = settingsOf(mirror.database);
    // The port that the configuration names may be taken. A source is known by its address, among other things.
    const wire: WireFetch = (asked, init) =>
      fetch(String(asked).replace(settings.platform.baseUrl, url), init);
    const before = await rows('SELECT id, source, status, committed_cents FROM investments ORDER BY id');
    const changes = await rows('SELECT seq, at, source, kind, id FROM changes ORDER BY seq');
    expect([before.length, changes.length]).toEqual([72, 9]);

    const config = configFrom(settings, { env, folderOf: () => folder });
    const engine = await startEngine({ config, clock, random: testRandom(), logger: silentLogger, wire });
    const counts = async () => (await rows('SELECT count(*) AS n FROM changes'))[0]?.n;
    try {
      for (const source of ['copper', 'quiet'] as SourceName[])
        expect(await engine.sync.tick(source, {})).toMatchObject({
          report: { outcome: 'done', mode: 'delta', message: null },
        });
      expect(await rows('SELECT id, source, status, committed_cents FROM investments ORDER BY id')).toEqual(
        before,
      );
      expect(await rows('SELECT seq, at, source, kind, id FROM changes ORDER BY seq')).toEqual(changes);
      // Changes that 0.1.0 wrote have the values before and after, from its history.
      const feed = await rows('SELECT kind, fields, before, after FROM changes ORDER BY seq');
      expect(feed.map(valuesNamed)).toEqual(feed.map(valuesExpected));
      expect(new Set(feed.map(({ kind }) => kind))).toEqual(
        new Set(['snapshot', 'added', 'changed', 'removed']),
      );
      // Who was forgotten under 0.1.0 stays without a name.
      expect(
        await rows("SELECT id FROM roster WHERE name IS NULL AND id = 'inv_176j3gnXyihThXljIhVRFX'"),
      ).toHaveLength(1);
      const churn = await fetch(`${url}/_sandbox/churn`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"changes":10}',
      });
      expect(churn.status).toBe(200);
      for (const source of ['copper', 'quiet'] as SourceName[]) await engine.sync.tick(source, {});
      expect(Number(await counts())).toBeGreaterThan(changes.length);
    } finally {
      await engine.close();
    }
  },
);

test.each(Object.keys(databases))(
  'status on a mirror that 0.1.0 wrote names the older schema and the command that upgrades it (%s)',
  async (database) => {
    const folder = tempFolder();
    const mirror = await databases[database]?.(folder);
    const config = configFrom(settingsOf(mirror?.database), { env, folderOf: () => folder });
    const failure = await statusOf(config.database, clock, config).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'database_unusable',
      message: expect.stringContaining('an earlier version of rosterd wrote it'),
      about: {
        hint: expect.stringContaining(database === 'SQLite' ? '`rosterd schema --apply`' : '`rosterd run`'),
      },
    });
  },
);
