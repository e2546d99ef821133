import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
import { newestMigration } from '../../src/store/newest-migration.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { tempFolder } from '../store/temp-folder.js';
import { testRandom } from '../support/chance.js';
import { filledBy } from './postgres-crashes.js';
import { unpacked, type Written, writtenFolder, writtenVersions } from './written.js';

/** Starts an hour after the files were written: stored cursors and tokens expire. */
function clockOf({ at }: Written): Clock {
  const offset = Date.parse(at) - systemClock.now();
  return { ...systemClock, now: () => systemClock.now() + offset };
}

interface Upgraded {
  readonly folder: string;
  readonly database: string;
  /** Runs one statement on the mirror and returns its rows. */
  readonly rows: (sql: string) => Promise<readonly Record<string, unknown>[]>;
}

const databases: Readonly<
  Record<string, (folder: string, from: Written) => Promise<Omit<Upgraded, 'folder'>>>
> = {
  SQLite: async (folder, { version }) => {
    const file = join(folder, 'mirror.db');
    writeFileSync(file, unpacked(version, 'mirror.db'), { mode: 0o600 });
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
  PostgreSQL: async (_, { version, migrations }) => {
    const { url } = await freshDatabase();
    await filledBy(url, version, migrations.postgres);
    const client = new pg.Client(url);
    await client.connect();
    onTestFinished(() => client.end());
    return { database: url, rows: async (sql) => (await client.query(sql)).rows };
  },
};

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

async function sandbox(folder: string, from: Written): Promise<Sandbox> {
  const dataFile = join(folder, 'platform.db');
  writeFileSync(dataFile, unpacked(from.version, 'platform.db'), { mode: 0o600 });
  const random = testRandom();
  const { seed, companies, records } = from;
  const clock = clockOf(from);
  const running = await startSandbox({ dataFile, seed, companies, records, clock, random });
  onTestFinished(() => running.close());
  return running;
}

/** The configuration of that version, with the database of this test. */
const settingsOf = ({ version }: Written, database: string | undefined) =>
  settingsSchema.parse({
    ...JSON.parse(readFileSync(join(writtenFolder(version), 'config.json'), 'utf8')),
    database,
  });

/** The environment of that version, as a shell would load it. */
const envOf = ({ version }: Written) =>
  Object.fromEntries(
    readFileSync(join(writtenFolder(version), 'environment.env'), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('=') as [string, string]),
  );

/** Whether this version has migrations that the version of the fixtures had not. */
const isOlder = ({ from, database }: { from: Written; database: string }) =>
  database === 'SQLite'
    ? from.migrations.sqlite < newestMigration('sqlite')
    : from.migrations.postgres < newestMigration('postgres');

const matrix = writtenVersions.flatMap((from) =>
  Object.keys(databases).map((database) => ({ from, database, version: from.version })),
);

test.each(matrix)(
  'a mirror, credentials and configuration that $version wrote: this version follows on from the stored cursors ($database)',
  async ({ database, from }) => {
    const clock = clockOf(from);
    const folder = tempFolder();
    const { url } = await sandbox(folder, from);
    const mirror = await databases[database]?.(folder, from);
    if (mirror === undefined) throw new Error(`no ${database}`);
    const { rows } = mirror;
    mkdirSync(join(folder, 'credentials'), { mode: 0o700 });
    const credentials = join(folder, 'credentials', 'quiet.json');
    writeFileSync(credentials, readFileSync(join(writtenFolder(from.version), 'credentials.json')));
    chmodSync(credentials, 0o600);
    const settings = settingsOf(from, mirror.database);
    // The port that the configuration names may be taken. A source is known by its address, among other things.
    const wire: WireFetch = (asked, init) =>
      fetch(String(asked).replace(settings.platform.baseUrl, url), init);
    const before = await rows('SELECT id, source, status, committed_cents FROM investments ORDER BY id');
    const changes = await rows('SELECT seq, at, source, kind, id FROM changes ORDER BY seq');
    expect([before.length, changes.length]).toEqual([from.investments, from.changes]);

    const config = configFrom(settings, { env: envOf(from), folderOf: () => folder });
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
      // Changes that it wrote have the values before and after, from its history.
      const feed = await rows('SELECT kind, fields, before, after FROM changes ORDER BY seq');
      expect(feed.map(valuesNamed)).toEqual(feed.map(valuesExpected));
      expect(new Set(feed.map(({ kind }) => kind))).toEqual(
        new Set(['snapshot', 'added', 'changed', 'removed']),
      );
      // A person who was forgotten then stays without a name.
      expect(
        await rows(`SELECT id FROM roster WHERE name IS NULL AND id = '${from.forgotten}'`),
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

/** Versions whose mirror has everything that status reads: a version may add only what status does not. */
const readByStatus: ReadonlySet<string> = new Set(['0.2.0']);

test.each(matrix.filter(isOlder))(
  'status reads a mirror that $version wrote if it lacks nothing that it reads, else it names the older schema and the command that upgrades it ($database)',
  async ({ database, from }) => {
    const clock = clockOf(from);
    const folder = tempFolder();
    const mirror = await databases[database]?.(folder, from);
    const config = configFrom(settingsOf(from, mirror?.database), {
      env: envOf(from),
      folderOf: () => folder,
    });
    const seen = await statusOf(config.database, clock, config).catch((error: unknown) => error);
    if (readByStatus.has(from.version)) {
      expect(seen).toMatchObject({ sources: [{ source: 'copper' }, { source: 'quiet' }] });
      return;
    }
    expect(seen).toMatchObject({
      code: 'database_unusable',
      message: expect.stringContaining('an earlier version of rosterd wrote it'),
      about: {
        hint: expect.stringContaining(database === 'SQLite' ? '`rosterd schema --apply`' : '`rosterd run`'),
      },
    });
  },
);
