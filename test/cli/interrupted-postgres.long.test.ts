import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../src/runtime/clock.js';
import { type Cut, cutWay } from '../postgres/cut-way.js';
import { migratedDatabase, postgresUrl } from '../postgres/fresh-database.js';
import { urlOf, withClient } from '../postgres/run-databases.js';
import { hurriedClock } from '../support/hurried-clock.js';
import { filledMirror } from './filled-mirror.js';
import { type FilledPostgres, filledPostgres } from './filled-postgres.js';

let world: FilledPostgres;
let copies = 0;

beforeAll(async () => {
  world = await filledPostgres(30);
  expect(await world.run(['sync'])).toMatchObject({ code: 0 });
});
afterAll(() => world.close());

/** A copy of the filled database, with a way to it that breaks, and the commands on both. */
async function interrupted(cut: Cut) {
  const from = new URL(world.administrator).pathname.slice(1);
  const server = await postgresUrl();
  copies += 1;
  const name = `${from}_copy_${copies}`;
  await withClient(server, async (client) => {
    await client.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [from]);
    await client.query(
      `CREATE DATABASE "${name}" TEMPLATE "${from}" OWNER "${new URL(world.url).username}" STRATEGY file_copy`,
    );
  });
  onTestFinished(() =>
    withClient(server, async (client) => void (await client.query(`DROP DATABASE "${name}" WITH (FORCE)`))),
  );
  const direct = urlOf(world.url, name);
  const way = await cutWay(direct, cut);
  const ledger = join(world.folder, `${name}.jsonl`);
  const run = (url: string, clock: Clock) => (args: readonly string[]) =>
    world.run([...args, '--set', `database=${url}`, '--set', `forget.ledger=${ledger}`], {
      clock,
      env: { PATH: '/nowhere' },
    });
  return {
    way,
    ledger,
    /** Over the way that breaks. The server is away for good, or back at once. */
    first: run(way.url, hurriedClock(500)),
    again: run(direct, systemClock),
    ask: (sql: string) =>
      withClient(urlOf(world.administrator, name), async (client) => (await client.query(sql)).rows),
  };
}

const someone = async () =>
  String(
    (
      await world.admin(
        `SELECT r.investor_id AS id FROM investment_rows r JOIN rosterd_identity.identity_rows i USING (row_no)
         WHERE r.investor_id IS NOT NULL ORDER BY 1 LIMIT 1`,
      )
    )[0]?.id,
  );

test('forget whose answer to the commit is lost says what it erased, and not that the person was forgotten before', async () => {
  const { way, first, ask } = await interrupted({
    at: [/INSERT INTO erasures/, /COMMIT/],
    when: 'after',
    back: true,
  });
  const id = await someone();
  const { code, out } = await first(['forget', id, '--json']);
  expect([way.statement(), code]).toEqual([expect.stringContaining('COMMIT'), 0]);
  const receipt = JSON.parse(out);
  expect(receipt.already).toBe(false);
  expect(receipt.identities).toBeGreaterThan(0);
  expect(await ask('SELECT id, forgotten_at AS at FROM forgotten')).toEqual([
    { id, at: receipt.invisible_at },
  ]);
});

test('forget that loses the server before the scrub says that the erasure is committed, and the next one does the rest', async () => {
  const { first, again, ask, ledger } = await interrupted({
    at: [/LOCK TABLE residue_marks/],
    when: 'before',
    back: false,
  });
  const id = await someone();
  const { code, err } = await first(['forget', id]);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(
      /^error: the erasure is committed, but bytes of it may remain: .*\nTry: Run the same command again/,
    ),
  ]);
  expect(existsSync(ledger)).toBe(true);
  expect(await ask('SELECT scrubbed_at FROM erasures')).toEqual([{ scrubbed_at: null }]);
  // Writers of other tests on the server block the scrub for moments.
  await expect
    .poll(async () => JSON.parse((await again(['forget', id, '--json'])).out))
    .toMatchObject({ already: true, bytes: 'scrubbed', pending: 0 });
});

test('forget that loses the server before its commit erases nothing, and its request is carried out by the next start', async () => {
  const { first, again, ask } = await interrupted({
    at: [/INSERT INTO erasures/, /COMMIT/],
    when: 'before',
    back: false,
  });
  const id = await someone();
  const { code, err } = await first(['forget', id]);
  expect([code, err]).toEqual([1, expect.not.stringContaining('committed')]);
  expect(await ask('SELECT id FROM forgotten')).toEqual([]);
  expect((await again(['sync'])).code).toBe(0);
  expect(await ask('SELECT id FROM forgotten')).toEqual([{ id }]);
});

test.each([
  ['before', 'the mirror is as it was'],
  ['after', 'the backup is there'],
] as const)('restore that loses the server %s its commit: %s, and the next one works', async (when, _) => {
  const { first, again, ask } = await interrupted({ at: [/^COPY \(SELECT/, /COMMIT/], when, back: false });
  const file = `restore-${when}.pgbackup`;
  expect((await again(['backup', file])).code).toBe(0);
  await ask("INSERT INTO pauses (source, paused_at) SELECT name, '2026-11-01T00:00:00.000Z' FROM sources");
  const { code, err } = await first(['restore', '--force', file]);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/Nothing was replaced, unless the connection broke in the last/),
  ]);
  expect(await ask('SELECT count(*)::int AS n FROM pauses')).toEqual([{ n: when === 'before' ? 1 : 0 }]);
  expect((await again(['restore', '--force', file])).code).toBe(0);
  expect(await ask('SELECT count(*)::int AS n FROM pauses')).toEqual([{ n: 0 }]);
  expect(readdirSync(world.folder).filter((name) => name.startsWith('.'))).toEqual([]);
});

test.each([
  ['before', 0, /Set "database" to/],
  ['after', 1, /is not empty, it holds a mirror of acme/],
] as const)(
  'migrate that loses the server %s its commit says that it may be complete, and the next one says whether it is',
  async (when, code, said) => {
    const mirror = await filledMirror(10);
    onTestFinished(() => mirror.close());
    await mirror.sync();
    const target = await migratedDatabase();
    onTestFinished(() => target.drop());
    const way = await cutWay(target.url, { at: [/^ANALYZE/, /^COMMIT/], when, back: false });
    const migrated = (url: string) =>
      mirror.run(['migrate', '--from', `sqlite:${join(mirror.folder, 'mirror.db')}`, '--to', url]);
    const first = await migrated(way.url);
    expect([first.code, first.err]).toEqual([
      1,
      expect.stringMatching(/at the commit of the copy\nTry: Run this again: the target is empty, or/),
    ]);
    const second = await migrated(target.url);
    expect([second.code, second.err]).toEqual([code, expect.stringMatching(said)]);
  },
);
