import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { migrateSqlite } from '../../src/store/dialect/sqlite/migrate.js';
import { openSqlite, type SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import { shippedMigrations } from '../../src/store/migrate.js';
import { freshMirror, StandingClock, seedSource } from '../store/support/mirror.js';
import { tempFolder } from '../store/temp-folder.js';
import { fakeIo, rosterd } from './fake-io.js';

/** A clock at noon. Each wait moves it forward and may change the mirror. */
class LookingClock extends StandingClock {
  looks = 0;
  onWait: (looks: number) => void = () => {};
  override async wait(millis: number): Promise<void> {
    this.looks += 1;
    this.onWait(this.looks);
    await super.wait(millis);
  }
}

const minutesAgo = (minutes: number) => new Date(Date.UTC(2026, 9, 20, 12) - minutes * 60_000).toISOString();

/** Two sources: acme with the given age, beta always fresh. */
function world(acme: Parameters<typeof seedSource>[2]): { mirror: SqliteDatabase; clock: LookingClock } {
  const mirror = freshMirror();
  seedSource(mirror, 1, { name: 'acme', ...acme });
  seedSource(mirror, 2, { name: 'beta', published_through: minutesAgo(0) });
  return { mirror, clock: new LookingClock() };
}

async function wait({ mirror, clock }: ReturnType<typeof world>, ...args: readonly string[]) {
  return await rosterd(['wait', '--database', mirror.file, ...args], fakeIo({ clock }));
}

test('wait exits 0 at once for a fresh mirror and prints how far each source is complete', async () => {
  const here = world({ published_through: minutesAgo(4) });
  const { code, out, err } = await wait(here);
  expect({ code, err, looks: here.clock.looks }).toEqual({ code: 0, err: '', looks: 0 });
  expect(out).toMatch(/^acme +2026-10-20T11:56:00.000Z \(4 min 0 s ago\) +following the feed$/m);
  expect((await wait(here, '--fresh', '2m', '--timeout', '0')).code).toBe(5);
  expect((await wait(here, '--fresh', '2m', '--timeout', '0', '--source', 'beta')).code).toBe(0);
});

test('wait returns when a commit makes the mirror fresh', async () => {
  const here = world({ published_through: minutesAgo(60) });
  here.clock.onWait = (looks) => {
    if (looks === 7)
      here.mirror.raw.exec("UPDATE sources SET published_through = '2026-10-20T11:59:00.000Z'");
  };
  expect((await wait(here)).code).toBe(0);
  expect(here.clock.looks).toBe(7);
});

test.each(['wait', 'pause', 'endpoints list'])(
  'a source that is named before a follow rule found any is refused with a hint: %s',
  async (command) => {
    const cwd = tempFolder();
    const rule = { follow: 'installations', token: { env: 'T' } };
    writeFileSync(
      join(cwd, 'config.json'),
      JSON.stringify({ platform: { baseUrl: 'http://127.0.0.1:9' }, sources: [rule] }),
    );
    const io = fakeIo({ cwd, env: { T: 'at_test_x' } });
    const { code, err } = await rosterd([...command.split(' '), '--source', 'acme'], io);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(
        /^error: no source is called "acme"\nTry: (?:rosterd sync|leave --source out: .+)\n$/,
      ),
    ]);
  },
);

test('wait exits 5 after the timeout with a hint', async () => {
  const here = world({ published_through: minutesAgo(60) });
  const { code, out, err } = await wait(here, '--timeout', '30s', '--json');
  expect(code).toBe(5);
  expect(err).toBe(
    'error: acme not complete up to 2026-10-20T11:55:30.000Z, after 30 s\n' +
      'Try: rosterd status, which shows the last tick of each source\n',
  );
  expect(JSON.parse(out)).toMatchObject({
    verdict: 'waiting',
    wanted_up_to: '2026-10-20T11:55:30.000Z',
    sources: [
      { source: 'acme', fresh: false, human: false, complete_up_to: minutesAgo(60) },
      { source: 'beta', fresh: true },
    ],
  });
});

test('wait exits 3 at once when a person is needed, but not for a source that was not requested', async () => {
  const halted = { state: 'halted', halted_from: 'following', halted_code: 'unauthorized' };
  const error = {
    halted_message: 'the token is void',
    halted_at: minutesAgo(9),
    last_error: 'the token is void',
  };
  const here = world({ ...halted, ...error, published_through: minutesAgo(60) });
  const { code, err } = await wait(here);
  expect({ code, looks: here.clock.looks }).toEqual({ code: 3, looks: 0 });
  expect(err).toContain('error: acme needs a person: the token is void\nTry: rosterd doctor');
  expect((await wait(here, '--source', 'beta')).code).toBe(0);
  // Its data is still fresh enough for a greater --fresh.
  expect((await wait(here, '--fresh', '2h')).code).toBe(0);
});

test('a running first listing is never fresh', async () => {
  const here = world({
    state: 'listing',
    listed_at: null,
    listed_seq: null,
    published_through: minutesAgo(0),
  });
  const { code, out } = await wait(here, '--timeout', '0');
  expect({ code, nothing: out.includes('nothing yet') }).toEqual({ code: 5, nothing: true });
});

test('wait accepts a configured mirror that does not exist yet, but not a missing file given with --database', async () => {
  const folder = tempFolder();
  const config = {
    platform: { baseUrl: 'https://api.example.com' },
    sources: [{ name: 'acme', token: { env: 'T' } }],
    database: 'sqlite:./mirror.db',
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  const io = fakeIo({ cwd: folder, clock: new LookingClock() });
  const { code, out } = await rosterd(['wait', '--timeout', '2s'], io);
  expect({ code, never: out.includes('never synced') }).toEqual({ code: 5, never: true });
  expect((await rosterd(['wait', '--database', 'none.db'], fakeIo({ cwd: folder }))).code).toBe(1);
  const stranger = await rosterd(['wait', '--source', 'nobody'], fakeIo({ cwd: folder }));
  expect(stranger).toMatchObject({ code: 2, err: expect.stringContaining('one of: acme') });
});

test('wait with a configuration lets a daemon create or migrate the schema first; with --database it refuses an older one', async () => {
  const folder = tempFolder();
  const config = {
    platform: { baseUrl: 'https://api.example.com' },
    sources: [{ name: 'acme', token: { env: 'T' } }],
    database: 'sqlite:./mirror.db',
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  const clock = new LookingClock();
  const mirror = openSqlite(join(folder, 'mirror.db'));
  onTestFinished(() => mirror.close());
  const at = { clock, version: '0.1.0' };
  const seen: string[] = [];
  const ask = (...args: string[]) =>
    rosterd(['wait', '--timeout', '0', ...args], fakeIo({ cwd: folder, clock }));
  const awaits = { code: 5, out: expect.stringContaining('the schema awaits its migration') };
  expect(await ask()).toMatchObject(awaits);
  migrateSqlite(mirror, { ...at, migrations: shippedMigrations('sqlite').slice(0, 9) });
  expect(await ask()).toMatchObject(awaits);
  const older = { code: 1, err: expect.stringMatching(/has schema 9 of .*\nTry: .*rosterd schema --apply/) };
  expect(await ask('--database', 'mirror.db')).toMatchObject(older);
  clock.onWait = (looks) => {
    seen.push(`look ${looks}`);
    if (looks !== 3) return;
    migrateSqlite(mirror, at);
    seedSource(mirror, 1, { name: 'acme', published_through: minutesAgo(1) });
  };
  expect((await rosterd(['wait'], fakeIo({ cwd: folder, clock }))).code).toBe(0);
  expect(seen).toEqual(['look 1', 'look 2', 'look 3']);
});

test('wait asks the registry for the sources of a follow rule, and does not pass without them', async () => {
  const folder = tempFolder();
  const here = world({ published_through: minutesAgo(1) });
  const rule = { follow: 'installations', rule: 'crm', token: { env: 'MANAGER' } };
  const listed = { name: 'beta', token: { env: 'T' } };
  const config = (sources: readonly object[]) =>
    writeFileSync(
      join(folder, 'config.json'),
      JSON.stringify({
        platform: { baseUrl: 'https://api.example.com' },
        sources,
        database: `sqlite:${here.mirror.file}`,
      }),
    );
  const ask = (...args: string[]) =>
    rosterd(['wait', '--timeout', '0', ...args], fakeIo({ cwd: folder, clock: here.clock }));
  config([rule]);
  expect((await ask()).code).toBe(5);
  here.mirror.raw.exec(`INSERT INTO followed_sources
    (source, rule, realm, target_type, target, installation, state, mints, first_seen_at)
    VALUES ('acme', 'crm', 'live', 'company', 'co_1', 'inst_1', 'connected', 1, '${minutesAgo(90)}')`);
  expect((await ask()).code).toBe(0);
  expect((await ask('--source', 'acme')).code).toBe(0);
  config([listed, rule]);
  here.mirror.raw.exec(`UPDATE sources SET published_through = '${minutesAgo(60)}' WHERE name = 'acme'`);
  expect(await ask()).toMatchObject({ code: 5, err: expect.stringContaining('error: acme not complete') });
});

test.each([
  [['--fresh', '5'], '--fresh is "5"\nTry: a whole number with its unit'],
  [['--timeout', 'soon'], '--timeout is "soon"'],
  [['--source', 'nobody'], 'one of: acme, beta'],
  [['--fresh', '999999d'], '--fresh is "999999d"'],
])('wait %j is a usage error', async (args, message) => {
  const { code, out, err } = await wait(world({}), ...args);
  expect({ code, out }).toEqual({ code: 2, out: '' });
  expect(err).toContain(message);
});

test('a signal ends wait with exit code 5', async () => {
  const here = world({ published_through: minutesAgo(60) });
  const io = fakeIo({ clock: here.clock });
  here.clock.onWait = () => io.signals.emit('SIGTERM');
  const { code } = await rosterd(['wait', '--database', here.mirror.file], io);
  expect({ code, looks: here.clock.looks }).toEqual({
    code: 5,
    looks: 1,
  });
});
