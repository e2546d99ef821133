import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readerRoles } from '../../src/store/dialect/postgres/roles.js';
import { schemaSql } from '../../src/store/dialect/postgres/schema-sql.js';
import { freshDatabase } from '../postgres/fresh-database.js';
import { withClient } from '../postgres/run-databases.js';
import { hurriedClock } from '../support/hurried-clock.js';
import { type FilledPostgres, filledPostgres, password } from './filled-postgres.js';

let world: FilledPostgres;
/** The output of all commands. */
let printed = '';

beforeAll(async () => {
  // The first sync creates the tables.
  world = await filledPostgres(40, freshDatabase);
  // Another program on this machine may use the default port.
  world.configure({ console: { listen: '127.0.0.1:0' } });
  await ok('sync');
});

afterAll(() => world.close());

async function run(...args: readonly string[]) {
  const { code, out, err } = await world.run(args);
  printed += out + err;
  return { code, out, err };
}

async function ok(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await run(...args);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${err}`);
  return out;
}

const json = async (...args: readonly string[]) => JSON.parse(await ok(...args, '--json'));

type Investment = { id: string; investor_id: string; valid_from: string; change_seq: number };

/** Removes the columns that depend on when and in which order the mirror received a row. */
const exported = async (...flags: readonly string[]) =>
  (await ok('export', '--identity', '--format', 'jsonl', ...flags))
    .trimEnd()
    .split('\n')
    .map((line) => {
      const { valid_from, change_seq, ...rest } = JSON.parse(line);
      expect([typeof valid_from, typeof change_seq]).toEqual(['string', 'number']);
      return rest;
    });

describe('a mirror on PostgreSQL', () => {
  test('a mirror on PostgreSQL has the same rows as one in a file', async () => {
    const here = await exported();
    expect(here.length).toBeGreaterThan(30);
    expect(here.filter(({ name }) => name !== null).length).toBeGreaterThan(20);
    const beside = join(world.folder, 'beside.json');
    const { databasePassword: _, ...config } = JSON.parse(
      readFileSync(join(world.folder, 'config.json'), 'utf8'),
    );
    writeFileSync(beside, JSON.stringify({ ...config, database: 'sqlite:./beside.db' }));
    await ok('sync', '--config', beside);
    expect(await exported('--config', beside)).toEqual(here);
  });

  test('status on PostgreSQL reports the state of the source', async () => {
    const [{ n }] = await json('query', 'SELECT count(*) AS n FROM investments');
    expect(await json('status')).toMatchObject({
      health: 'ok',
      sources: [{ source: 'acme', rows: n, readable: 1, state: 'following', last_outcome: 'done' }],
      change_seq: expect.any(Number),
    });
    expect(await ok('status')).toMatch(new RegExp(`^acme +following +${n} `, 'm'));
  });

  test('query on PostgreSQL returns integers as numbers and refuses to write', async () => {
    const sql = 'SELECT count(*) AS n, sum(committed_cents) AS cents FROM investments';
    const [row] = await json('query', sql);
    expect([typeof row.n, typeof row.cents]).toEqual(['number', 'number']);
    expect(
      await ok('query', '--csv', 'SELECT id, NULL AS nothing FROM investments ORDER BY id LIMIT 1'),
    ).toMatch(/^id,nothing\r?\ninv_\w+,\r?\n$/);
    for (const writes of [
      'DELETE FROM sources',
      'WITH gone AS (DELETE FROM sources RETURNING 1) SELECT * FROM gone',
      'CREATE TABLE x (y int)',
      'EXPLAIN ANALYZE DELETE FROM sources',
      "SELECT nextval('tick_rows_tick_seq')",
      'SELECT 1 INTO elsewhere',
    ])
      expect(await run('query', writes)).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringContaining('only statements that read'),
      });
    expect(await run('query', 'SELECT 1; DELETE FROM sources')).toMatchObject({
      code: 2,
      err: expect.stringContaining('one statement at a time'),
    });
    expect(await run('query', 'SELECT nowhere FROM investments')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/column "nowhere" does not exist\nTry: .*dictionary/),
    });
    expect(await run('query', '--timeout', '1', 'SELECT pg_sleep(30)')).toMatchObject({
      code: 2,
      err: expect.stringContaining('took longer than 1000 ms'),
    });
    expect(await json('query', 'SHOW transaction_read_only')).toEqual([{ transaction_read_only: 'on' }]);
  });

  test('query on PostgreSQL streams many rows and stops at the limit', async () => {
    const many = 'SELECT i FROM generate_series(1, 2001) AS i';
    expect((await ok('query', '--csv', many)).trimEnd().split('\n')).toHaveLength(2_002);
    const cut = await run('query', '--limit', '600', many, '--json');
    expect(JSON.parse(cut.out)).toHaveLength(600);
    expect(cut.err).toContain('only the first 600 rows');
  });

  test('a change on the platform appears in changes and history', async () => {
    const [{ id }] = (await json('query', 'SELECT id FROM investments ORDER BY id LIMIT 1')) as [Investment];
    const { change_seq: before } = await json('status');
    await world.control('PATCH', `/investments/${id}`, {
      amounts: { committed_cents: 123_400 },
    });
    await ok('sync');
    const changes = await json('changes', '--since', String(before));
    expect(changes).toMatchObject([{ seq: before + 1, source: 'acme', id, kind: 'changed' }]);
    const versions = await json('history', id);
    expect(versions.length).toBeGreaterThan(1);
    expect(versions[0]).toMatchObject({ committed_cents: 123_400, valid_to: null });
    expect(versions[1]).toMatchObject({ ended_by: 'update', valid_to: versions[0].valid_from });
    const asOf = await json('history', id, '--as-of', versions[1].valid_from);
    expect(asOf).toMatchObject([{ committed_cents: versions[1].committed_cents }]);
    expect(await ok('export', '--as-of', versions[1].valid_from)).toContain(id);
  });

  test('changes --follow prints changes committed meanwhile', async () => {
    const { change_seq: before } = await json('status');
    const io = world.io();
    const { rosterd } = await import('./fake-io.js');
    const following = rosterd(['changes', '--follow', '--json', '--since', String(before)], io);
    const five = (await json('query', 'SELECT id FROM investments ORDER BY id LIMIT 5')) as Investment[];
    for (const [index, { id }] of five.entries())
      await world.control('PATCH', `/investments/${id}`, { amounts: { committed_cents: 700_100 + index } });
    const said = await run('sync');
    const { change_seq: after } = await json('status');
    expect([said.code, after - before], said.out + said.err).toEqual([0, 5]);
    const arrived = () => io.out().split('\n').filter(Boolean).length >= after - before;
    const { setTimeout } = await import('node:timers/promises');
    while (!arrived()) await setTimeout(20);
    io.signals.emit('SIGINT');
    expect(await following).toMatchObject({ code: 0 });
    const seqs = io
      .out()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).seq);
    expect(seqs).toEqual(Array.from({ length: after - before }, (_, index) => before + 1 + index));
  });

  test('changes --follow waits while the server is unreachable, warns once, and continues where it stopped', async () => {
    const { change_seq: before } = await json('status');
    const io = world.io();
    const { rosterd } = await import('./fake-io.js');
    const following = rosterd(['changes', '--follow', '--json', '--since', String(before - 1)], io);
    const seqs = () =>
      io
        .out()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line).seq);
    await expect.poll(seqs).toEqual([before]);
    const role = new URL(world.url).username;
    await world.admin(`ALTER ROLE "${role}" CONNECTION LIMIT 0`);
    await world.admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}'`);
    await expect.poll(() => io.err()).toContain('retrying until it is reachable');
    expect((await run('changes', '--follow')).code).toBe(1);
    await world.admin(`ALTER ROLE "${role}" CONNECTION LIMIT -1`);
    const [{ id }] = (await json('query', 'SELECT id FROM investments ORDER BY id LIMIT 1')) as [Investment];
    await world.control('PATCH', `/investments/${id}`, { amounts: { committed_cents: 812_345 } });
    expect((await run('sync')).code).toBe(0);
    await expect.poll(seqs).toEqual([before, before + 1]);
    expect(io.err().match(/retrying until/g)).toHaveLength(1);
    expect(io.err()).not.toMatch(/\n\s+at /);
    io.signals.emit('SIGTERM');
    expect(await following).toMatchObject({ code: 0 });
  });

  test('verify on PostgreSQL finds the mirror equal, and names a difference made by hand', async () => {
    expect(await json('verify', '--full')).toMatchObject({ equal: true });
    const [{ id }] = (await json('query', 'SELECT id FROM investments ORDER BY id DESC LIMIT 1')) as [
      Investment,
    ];
    await world.admin(`UPDATE investment_rows SET committed_cents = committed_cents + 1 WHERE id = '${id}'`);
    // What differs is read again after two seconds.
    const { code, out } = await world.run(['verify', '--full'], { clock: hurriedClock(2_000) });
    expect([code, out.includes(id)]).toEqual([4, true]);
    await world.admin(`UPDATE investment_rows SET committed_cents = committed_cents - 1 WHERE id = '${id}'`);
  });

  test('forget on PostgreSQL removes a person from every table', async () => {
    const [{ investor_id: person, email }] = await json(
      'query',
      'SELECT investor_id, email FROM roster WHERE email IS NOT NULL ORDER BY id LIMIT 1',
    );
    expect(await json('forget', person)).toMatchObject({ id: person, already: false });
    // A transaction of another test on the same server may delay the scrub.
    await expect.poll(() => json('forget', person)).toMatchObject({ bytes: 'scrubbed', already: true });
    const tables = await world.admin(
      "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname IN ('public', 'rosterd_identity')",
    );
    expect(tables.length).toBeGreaterThan(15);
    for (const { name } of tables)
      expect(await world.admin(`SELECT 1 FROM ${name} t WHERE strpos(t::text, '${email}') > 0`)).toEqual([]);
    expect(await ok('forget', person, '--lift')).toContain('may be stored again');
  });

  test('doctor checks the server with the rights of the configured user', async () => {
    const { code, out } = await run('doctor', '--json');
    const checks = JSON.parse(out).checks as { name: string; verdict: string; message: string }[];
    const found = Object.fromEntries(
      checks.filter(({ name }) => name.startsWith('database.')).map(({ name, verdict }) => [name, verdict]),
    );
    expect(found).toMatchObject({
      'database.server': 'pass',
      'database.schema': 'pass',
      'database.rights': 'pass',
      'database.pooler': 'pass',
      'database.connections': 'pass',
      'database.log': 'pass',
      'database.holders': 'pass',
    });
    expect(code).toBe(0);
  });

  test('status, sources and doctor end and name who has locked the mirror, and leave nothing at the server', async () => {
    await withClient(world.administrator, async (client) => {
      await client.query('BEGIN; LOCK TABLE sources, rosterd_identity.identity_rows');
      const [status, sources, doctor] = await Promise.all([
        run('status'),
        run('sources', 'list'),
        run('doctor', '--json'),
      ]);
      const { rows } = await client.query(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      expect(rows).toEqual([]);
      const busy = expect.stringMatching(/ is in use by .+ \(process \d+\)/);
      for (const { code, err } of [status, sources]) expect([code, err]).toEqual([1, busy]);
      const { checks } = JSON.parse(doctor.out) as { checks: { name: string }[] };
      expect(doctor.code).toBe(1);
      expect(checks.filter(({ name }) => name === 'database.locks')).toEqual([
        {
          name: 'database.locks',
          verdict: 'fail',
          message: busy,
          mend: expect.stringContaining('pg_terminate_backend'),
        },
      ]);
    });
  });

  test('doctor ends and says that no connection is left if the role may have only one', async () => {
    const limit = (most: number) =>
      world.admin(`ALTER ROLE ${new URL(world.url).username} CONNECTION LIMIT ${most}`);
    await limit(1);
    const { code, out } = await run('doctor', '--json');
    await limit(-1);
    const { checks } = JSON.parse(out) as { checks: { name: string }[] };
    const server = checks.find(({ name }) => name === 'database.server');
    expect([code, server]).toMatchObject([
      1,
      { verdict: 'fail', message: expect.stringContaining('has no connection left') },
    ]);
  });

  test('an analyst role reads the mirror, and names only with the identity role', async () => {
    for (const role of readerRoles)
      await world.admin(
        `DO $$ BEGIN CREATE ROLE ${role} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`,
      );
    await world.admin(schemaSql('grants.sql', { schema: 'public', identitySchema: 'rosterd_identity' }));
    const analyst = `${new URL(world.url).username}_analyst`;
    await world.admin(`CREATE ROLE ${analyst} LOGIN PASSWORD 'canary2' IN ROLE rosterd_analyst`);
    const url = new URL(world.url);
    url.username = analyst;
    url.password = 'canary2';
    const asAnalyst = ['--database', url.href];
    expect(await json('query', 'SELECT count(*) > 30 AS many FROM investments', ...asAnalyst)).toEqual([
      { many: 1 },
    ]);
    expect((await ok('export', ...asAnalyst)).split('\n').length).toBeGreaterThan(30);
    expect(await json('changes', ...asAnalyst)).not.toEqual([]);
    for (const sql of ['SELECT name FROM roster', 'SELECT * FROM rosterd_identity.identity_rows'])
      expect(await run('query', sql, ...asAnalyst)).toMatchObject({
        code: 2,
        out: '',
        err: expect.stringMatching(/permission denied .*\nTry: Names are for the role rosterd_identity/),
      });
    // Advice to make an analyst the owner would give more than reading.
    for (const command of ['status', 'export --identity --out names.csv'])
      expect(await run(...command.split(' '), ...asAnalyst)).toMatchObject({
        code: 1,
        err: expect.stringMatching(
          /permission denied for .*42501.*\nTry: Reading rows needs the role rosterd_analyst/,
        ),
      });
    await world.admin(`GRANT rosterd_identity TO ${analyst}`);
    expect(await json('query', 'SELECT count(name) > 20 AS known FROM roster', ...asAnalyst)).toEqual([
      { known: 1 },
    ]);
    await world.admin(`DROP ROLE ${analyst}`);
  });
});

describe('errors of the PostgreSQL connection are reported with a hint', () => {
  const address = (change: (url: URL) => void) => {
    const url = new URL(world.url);
    change(url);
    return ['--set', `database=${url.href}`];
  };

  test.each([
    [
      'a wrong password',
      'status',
      () => [],
      { DB_PASSWORD: 'canary-wrong' },
      /refuses the password.*\nTry: .*password/,
    ],
    [
      'nobody at the port',
      'status',
      () =>
        address((url) => {
          url.port = '1';
        }),
      {},
      /cannot be reached.*ECONNREFUSED.*\nTry: Start PostgreSQL/,
    ],
    [
      'no such database',
      'sync',
      () =>
        address((url) => {
          url.pathname = '/nowhere';
        }),
      {},
      /nowhere does not exist.*\nTry: Create the database/,
    ],
    [
      'a password that is not set',
      'status',
      () => [],
      { DB_PASSWORD: '' },
      /databasePassword: .*DB_PASSWORD is empty/,
    ],
  ] as const)('%s', async (_, command, flags, env, message) => {
    const { code, out, err } = await world.run([command, ...flags()], { env });
    printed += out + err;
    expect([code === 1 || code === 2, out]).toEqual([true, '']);
    expect(err).toMatch(message);
    expect(err).not.toMatch(/ at .*\.[jt]s:\d/);
    expect(err).not.toContain('canary-wrong');
  });

  test('a PostgreSQL database without a mirror is reported', async () => {
    const flags = ['--set', `database=${world.url}?options=-csearch_path%3Dempty`];
    await world.admin('CREATE SCHEMA IF NOT EXISTS empty');
    await world.admin(`GRANT USAGE ON SCHEMA empty TO "${new URL(world.url).username}"`);
    expect(await run('status', ...flags)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/holds no mirror yet\nTry: Run `rosterd sync`/),
    });
    expect(await run('sync', ...flags)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/does not let this user do that: permission denied .*42501.*\nTry: /),
    });
  });

  test('a PostgreSQL schema of a later version is reported', async () => {
    await world.admin(
      "INSERT INTO migrations (number, name, checksum, applied_at, version) VALUES (9999, 'later', 'x', '2027-01-01T00:00:00.000Z', '9.9.9')",
    );
    for (const command of ['status', 'sync'])
      expect(await run(command)).toMatchObject({
        code: 1,
        err: expect.stringMatching(
          /has schema 9999, written by rosterd 9\.9\.9; .*\nTry: Install that version/,
        ),
      });
    await world.admin('DELETE FROM migrations WHERE number = 9999');
  });

  test('no command prints the password, however it is given', async () => {
    const inUrl = new URL(world.url);
    inUrl.password = encodeURIComponent(password);
    world.configure({ database: inUrl.href, databasePassword: undefined });
    await ok('status');
    for (const command of [['config', 'show'], ['config', 'validate'], ['doctor']]) await run(...command);
    await run('status', '--database', inUrl.href);
    await run('status', '--set', `database=${inUrl.href}#wrong`);
    await run('status', '--set', `databasePassword=${password}`);
    expect(printed.length).toBeGreaterThan(5_000);
    for (const form of [password, encodeURIComponent(password), 'canary'])
      expect(printed).not.toContain(form);
    expect((await ok('config', 'show')).includes('postgres://')).toBe(true);
  });
});
