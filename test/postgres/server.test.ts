import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { findBinaries, packageFolder } from './binaries.js';
import { freshDatabase, postgresUrl } from './fresh-database.js';
import { dropDatabasesOf, runName, urlOf, withClient } from './run-databases.js';

test('a fresh database is a real, empty server database with its own connections', async () => {
  const database = await freshDatabase();
  await withClient(database.url, async (one) => {
    const locked = 'SELECT pg_try_advisory_lock(7) AS got';
    expect((await one.query(locked)).rows).toEqual([{ got: true }]);
    await withClient(database.url, async (other) => {
      expect((await other.query(locked)).rows).toEqual([{ got: false }]);
      expect(
        (await other.query('SELECT count(*)::int AS tables FROM pg_tables WHERE schemaname = $1', ['public']))
          .rows,
      ).toEqual([{ tables: 0 }]);
    });
  });
  await database.drop();
  await expect(withClient(database.url, (client) => client.query('SELECT 1'))).rejects.toThrow(
    'does not exist',
  );
});

test('dropping the databases of a run ends their connections and leaves other databases alone', async () => {
  const server = await postgresUrl();
  const [run, other] = [runName(), runName()];
  await withClient(server, async (client) => {
    for (const name of [`${run}_a`, `${run}_b`, other]) await client.query(`CREATE DATABASE "${name}"`);
    const names = async () =>
      (
        await client.query<{ datname: string }>(
          'SELECT datname FROM pg_database WHERE starts_with(datname, $1) OR datname = $2 ORDER BY 1',
          [run, other],
        )
      ).rows.map(({ datname }) => datname);
    expect(await names()).toHaveLength(3);
    const busy = new pg.Client({ connectionString: urlOf(server, `${run}_a`) });
    const lost = new Promise((resolve) => busy.on('error', resolve));
    await busy.connect();
    await dropDatabasesOf(server, run);
    await lost;
    expect(await names()).toEqual([other]);
    await dropDatabasesOf(server, other);
  });
});

test('the server runs from a folder that only root may enter, and without the links of an install script', () => {
  const locked = mkdtempSync(join(tmpdir(), 'rosterd-locked-'));
  onTestFinished(() => rmSync(locked, { recursive: true }));
  const root = join(locked, 'package');
  cpSync(packageFolder(), root, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8')) as {
    target: string;
  }[];
  for (const { target } of links) rmSync(join(root, target));
  const { postgres, owner, copy } = findBinaries(root);
  if (copy !== null) onTestFinished(() => rmSync(copy, { recursive: true }));
  expect(statSync(locked).mode & 0o777).toBe(0o700);
  expect(copy === null).toBe(process.getuid?.() !== 0);
  const { stdout } = spawnSync(postgres, ['--version'], { ...owner, cwd: '/', encoding: 'utf8' });
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(stdout).toContain(`postgres (PostgreSQL) ${Number.parseInt(version, 10)}`);
});

test('a server whose owner was killed ends with it and leaves no file', async () => {
  const owner = spawn(
    process.execPath,
    [
      ...['--import', 'tsx', '--input-type=module', '-e'],
      `import { startPostgres } from ${JSON.stringify(new URL('./server.ts', import.meta.url).href)};
       console.log((await startPostgres()).url);`,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  // A child that inherited the pipe keeps it open: it closes when the last of them has ended.
  const everybodyGone = once(owner.stderr.resume(), 'close');
  const [url] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string];
  const data = await withClient(url, async (client) => {
    const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
    return rows[0]?.data_directory ?? '';
  });
  expect(existsSync(dirname(data))).toBe(true);
  owner.kill('SIGKILL');
  await everybodyGone;
  expect(existsSync(dirname(data))).toBe(false);
  await expect(withClient(url, (client) => client.query('SELECT 1'))).rejects.toThrow('ECONNREFUSED');
});
