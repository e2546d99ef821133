import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { lakeHasPeople, syncLake } from '../../src/reading/lake.js';
import { publishExports } from '../../src/reading/publish-exports.js';
import { systemClock } from '../../src/runtime/clock.js';
import { processName } from '../../src/runtime/process-identity.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { contentOf, filesOf } from '../exports/lake/world.js';
import { freshMirror, seedIdentity, seedInvestment, seedSource } from '../store/support/mirror.js';
import { tempFolder } from '../store/temp-folder.js';
import { testRandom } from '../support/chance.js';
import { readApart } from '../support/read-apart.js';
import { fakeIo, rosterd } from './fake-io.js';
import { filledPostgres } from './filled-postgres.js';

function world(database = freshMirror()) {
  seedSource(database, 1);
  seedIdentity(database, seedInvestment(database, 1, 'inv_1', { investor_id: 'usr_1' }), { name: 'CANARY' });
  seedIdentity(database, seedInvestment(database, 1, 'inv_2', { investor_id: 'usr_2' }), { name: 'Other' });
  const config = join(tempFolder(), 'config.json');
  writeFileSync(
    config,
    JSON.stringify({
      platform: { baseUrl: 'http://127.0.0.1:1' },
      database: `sqlite:${database.file}`,
      sources: [{ name: 'acme', token: { env: 'T' }, company: 'co_1' }],
    }),
  );
  const forget = (...args: string[]) =>
    rosterd(['forget', ...args, '--config', config], fakeIo({ env: { T: 'x' }, clock: systemClock }));
  const holding = () =>
    readdirSync(dirname(database.file)).filter((name) =>
      readApart(join(dirname(database.file), name)).includes('CANARY'),
    );
  return { database, forget, holding, config, folder: dirname(config) };
}

test('forget scrubs the file while another program has it open, removes a backup with names, and prints a receipt', async () => {
  const { database, forget, holding } = world();
  const backup = `${database.file}.schema-0004.bak`;
  writeFileSync(backup, 'CANARY');
  const { code, out, err } = await forget('usr_1', '--json');
  expect(err).toBe('');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({
    id: 'usr_1',
    identities: 1,
    already: false,
    bytes: 'scrubbed',
    pending: 0,
    pending_since: null,
    invisible_at: expect.stringMatching(/^20\d\d-/),
    backups_removed: [backup],
    exports_removed: [],
    exports_damaged: [],
    lake: 'none',
    other_hosts: false,
  });
  expect(holding()).toEqual([]);
  expect(existsSync(backup)).toBe(false);
  const receipt = database.raw
    .prepare('SELECT id, cause, scrubbed_at IS NOT NULL AS scrubbed FROM erasures')
    .all();
  expect(receipt).toEqual([{ id: 'usr_1', cause: 'forget', scrubbed: 1 }]);
});

test('forget rewrites the configured lake and deletes scheduled exports with names, and no others', async () => {
  const { folder, forget, config, database } = world();
  const location = { kind: 'sqlite', file: database.file } as const;
  const signal = new AbortController().signal;
  const ask = { folder: join(folder, 'lake'), identity: true, compact: false, keep: 2 };
  await syncLake(location, ask, systemClock, signal);
  const parts = { clock: systemClock, random: testRandom(), signal };
  const exported = (name: string, identity: boolean) =>
    publishExports(
      location,
      { folder: join(folder, name), format: 'csv', tables: [identity ? 'roster' : 'investments'], identity },
      parts,
    );
  const named = await exported('exports', true);
  const plain = await exported('plain', false);
  expect(await contentOf(ask.folder)).toContain('CANARY');
  const { out } = await forget('usr_1', '--json');
  expect(JSON.parse(out)).toMatchObject({ lake: 'rewritten', exports_removed: [named.folder] });
  expect(await contentOf(ask.folder)).toMatch(/^(?!.*CANARY).*Other/s);
  expect([existsSync(named.folder), existsSync(plain.folder)]).toEqual([false, true]);
  // Without names in them, neither the lake nor an export is touched.
  writeFileSync(config, readFileSync(config, 'utf8').replace('}', '},"exports":{"folder":"plain"}'));
  await syncLake(location, { ...ask, identity: false }, systemClock, signal);
  const again = await forget('usr_2', '--json');
  expect(JSON.parse(again.out)).toMatchObject({ lake: 'none', exports_removed: [] });
});

const lakeOf = ({ folder, database }: ReturnType<typeof world>) => {
  const lake = join(folder, 'lake');
  const sync = (identity: boolean) =>
    syncLake(
      { kind: 'sqlite', file: database.file },
      { folder: lake, identity, compact: false, keep: 2 },
      systemClock,
      new AbortController().signal,
    );
  return { lake, sync };
};

test('forget deletes files of people that killed runs left in the lake, with and without a state', async () => {
  const all = world();
  const { lake, sync } = lakeOf(all);
  await sync(true);
  // A run without names was killed after it replaced the state and before it deleted the files of people.
  const people = join(lake, 'identities');
  cpSync(people, join(all.folder, 'people'), { recursive: true });
  await sync(false);
  cpSync(join(all.folder, 'people'), people, { recursive: true });
  expect(await contentOf(lake)).toContain('CANARY');
  expect(lakeHasPeople(lake)).toBe(true);
  expect(JSON.parse((await all.forget('usr_1', '--json')).out)).toMatchObject({ lake: 'rewritten' });
  expect(await contentOf(lake)).not.toContain('CANARY');
  expect(lakeHasPeople(lake)).toBe(false);
  // The very first run with names was killed.
  rmSync(lake, { recursive: true });
  cpSync(join(all.folder, 'people'), people, { recursive: true });
  expect(lakeHasPeople(lake)).toBe(true);
  mkdirSync(join(lake, '.sync-1'));
  expect(JSON.parse((await all.forget('usr_1', '--json')).out)).toMatchObject({ lake: 'rewritten' });
  expect(filesOf(lake)).toEqual([]);
  expect(readdirSync(lake)).not.toContain('.sync-1');
});

test.each([
  ['is damaged', '_current.json', '{'],
  ['is of a newer version', '_current.json', '{"format":"rosterd-lake","version":99}'],
  ['is being written', '_lock', `${processName()}:another`],
])('forget reports a lake that %s as pending', async (_, name, content) => {
  const all = world();
  const { lake, sync } = lakeOf(all);
  await sync(true);
  writeFileSync(join(lake, name), content);
  expect(lakeHasPeople(lake)).toBe(true);
  const { code, out } = await all.forget('usr_1', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ lake: 'pending' });
});

test('forget reports a lake whose first run is under way as pending', async () => {
  const all = world();
  const { lake } = lakeOf(all);
  mkdirSync(lake);
  writeFileSync(join(lake, '_lock'), `${processName()}:another`);
  expect(JSON.parse((await all.forget('usr_1', '--json')).out)).toMatchObject({ lake: 'pending' });
});

test('forget that cannot delete exports scrubs the file all the same, and says who has to delete them', async () => {
  const { config, forget, holding } = world();
  const exports = join(dirname(config), 'exports');
  // A link to itself: the system refuses to list it, to whoever runs the test.
  symlinkSync('exports', exports);
  const { code, err } = await forget('usr_1');
  expect([code, err]).toEqual([
    2,
    `error: the erasure is committed, but bytes of it may remain: exports with names in ${exports} cannot be deleted (ELOOP)
Try: Delete them as the user who owns them, then run the same command again: it does the rest. A running daemon scrubs the database, too.
`,
  ]);
  expect(holding()).toEqual([]);
  rmSync(exports);
  expect((await forget('usr_1')).code).toBe(0);
});

test('forget warns about a folder named like an export whose manifest cannot be read, and keeps it', async () => {
  const { folder, forget } = world();
  const damaged = join(folder, 'exports', '20261101T000000Z');
  mkdirSync(damaged, { recursive: true });
  writeFileSync(join(damaged, 'manifest.json'), '{"torn');
  const { code, err } = await forget('usr_1');
  expect([code, existsSync(damaged)]).toEqual([0, true]);
  expect(err).toContain(`${damaged} may be an export with names`);
});

test('forget on PostgreSQL warns that it cleans no exports and lakes of other hosts, and speaks of tables', async () => {
  const postgres = await filledPostgres(10);
  onTestFinished(() => postgres.close());
  expect((await postgres.run(['sync'])).code).toBe(0);
  const [record] = await postgres.admin('SELECT id FROM investment_rows LIMIT 1');
  const { code, out, err } = await postgres.run(['forget', String(record?.id)]);
  expect(code).toBe(0);
  // A writer in another database of the server may block the scrub.
  expect([out, err]).toContainEqual(
    expect.stringMatching(/no bytes of it are left in the tables|may still see it/),
  );
  expect(err).toContain('exports and lakes with names on other hosts are cleaned by the daemons there');
});

test('forget prints text for people, and reports an id that was already forgotten', async () => {
  const { database, forget, holding } = world();
  database.close();
  const first = await forget('inv_1');
  expect(first.out).toMatch(/inv_1: identity of 1 investment erased\n.*invisible since.*\n.*no bytes/);
  expect((await forget('inv_1')).out).toContain('was already forgotten');
  expect(holding()).toEqual([]);
});

test('a reader that blocks the scrub makes the erasure pending, with its start time', async () => {
  const { database, forget } = world();
  const reader = openSqlite(database.file, { readonly: true });
  reader.raw.exec('BEGIN');
  reader.raw.prepare('SELECT count(*) FROM investments').get();
  const { code, out, err } = await forget('usr_1');
  expect(code).toBe(0);
  expect(out).toMatch(/bytes: pending, 1 erasure since 20/);
  expect(err).toContain('a running daemon finishes the erasure');
  reader.close();
});

test('forget --lift allows identity to be stored again', async () => {
  const { database, forget } = world();
  await forget('usr_1');
  const lifted = await forget('usr_1', '--lift');
  expect(lifted.out).toBe('usr_1 may be stored again\n');
  expect(lifted.err).toMatch(/: rosterd sync --config \S+ --resync$/m);
  expect((await forget('usr_1', '--lift', '--json')).out).toBe('{"id":"usr_1","lifted":false}\n');
  expect(database.raw.prepare('SELECT * FROM forgotten').all()).toEqual([]);
});

test.each([
  ['usr_nobody', /usr_nobody is neither an investment nor an investor of this mirror/],
  ['ada@example.org', /^(?!.*ada).*neither the id of an investment nor of an investor/s],
  ['Ada Lovelace', /^(?!.*Lovelace).*neither the id of an investment nor of an investor/s],
])('forget rejects %s with a hint', async (id, message) => {
  const { forget } = world();
  const { code, err } = await forget(id);
  expect(code).toBe(2);
  expect(err).toMatch(message);
  expect(err).toContain('Try: ');
});
