import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { Fault } from '../../src/domain/fault.js';
import { openVault } from '../../src/reading/open-vault.js';
import { systemClock } from '../../src/runtime/clock.js';
import { restorePostgres } from '../../src/store/dialect/postgres/restore.js';
import type { ForgetSourceReceipt } from '../../src/tasks/forget-source.js';
import { fileOfEntry } from '../../src/vault/entry-file.js';
import { copiedMirror, type FilledMirror, filledMirror } from './filled-mirror.js';
import { filledPostgres } from './filled-postgres.js';

interface Registered {
  readonly state: string;
  readonly reason: string | null;
  readonly erase_after: string | null;
  readonly erased_rows: number | null;
}

let original: FilledMirror;
beforeAll(async () => {
  original = await filledMirror();
  await original.sync();
});
afterAll(() => original.close());

/** A mirror with records of acme. */
function listed(): FilledMirror {
  const world = copiedMirror(original);
  onTestFinished(() => world.close());
  return world;
}

/** The same, but the configuration does not list acme any more. */
function unlisted(): FilledMirror {
  const world = listed();
  const file = join(world.folder, 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8'));
  const other = { name: 'other', token: { env: 'ACME' }, company: 'co_other' };
  writeFileSync(file, JSON.stringify({ ...config, sources: [other] }));
  return world;
}

function onDatabase<Result>({ folder }: FilledMirror, work: (db: Sqlite.Database) => Result): Result {
  const db = new Sqlite(join(folder, 'mirror.db'));
  try {
    return work(db);
  } finally {
    db.close();
  }
}

const rowsOf = (world: FilledMirror) =>
  onDatabase(world, (db) => db.prepare<[], number>('SELECT count(*) FROM investments').pluck().get());
const identitiesOf = (world: FilledMirror) =>
  onDatabase(world, (db) => db.prepare<[], number>('SELECT count(*) FROM identity_rows').pluck().get());

function register(world: FilledMirror, over: Readonly<Record<string, string | number | null>> = {}): void {
  const row = {
    ...{ source: 'acme', rule: 'crm', realm: 'live', target_type: 'company', target: world.company.id },
    ...{ installation: 'inst_1', state: 'connected', mints: 1, first_seen_at: '2026-11-01T00:00:00.000Z' },
    ...over,
  };
  const columns = Object.keys(row);
  onDatabase(world, (db) =>
    db
      .prepare(
        `INSERT INTO followed_sources (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
      )
      .run(...Object.values(row)),
  );
}

const registered = (world: FilledMirror) =>
  onDatabase(world, (db) =>
    db.prepare<[], Registered>('SELECT state, reason, erase_after, erased_rows FROM followed_sources').get(),
  );

test('sources forget refuses a source that the configuration lists, and says what to do', async () => {
  const world = listed();
  const before = rowsOf(world);
  const { code, err } = await world.run(['sources', 'forget', 'acme', '--yes']);
  expect([code, rowsOf(world)]).toEqual([2, before]);
  expect(err).toContain('acme is listed in the configuration');
  expect(err).toContain('delete it from "sources" in config.json');
});

test('sources forget erases an unlisted source after a confirmation, and prints a receipt', async () => {
  const world = unlisted();
  const before = rowsOf(world);
  expect(before).toBeGreaterThan(0);
  expect(identitiesOf(world)).toBeGreaterThan(0);
  const asked = await world.run(['sources', 'forget', 'acme']);
  expect([asked.code, rowsOf(world)]).toEqual([2, before]);
  expect(asked.err).toContain(`: ${before} rows, their history, changes and names`);
  const typed = (answer: string) => ({
    tty: true,
    stdin: Object.assign(Readable.from([`${answer}\n`]), { isTTY: true }),
  });
  const wrong = await world.run(['sources', 'forget', 'acme'], typed('acne'));
  expect([wrong.code, rowsOf(world)]).toEqual([2, before]);
  expect(wrong.err).toContain('nothing was erased');
  const ended = Object.assign(Readable.from([]), { isTTY: true });
  expect(await world.run(['sources', 'forget', 'acme'], { tty: true, stdin: ended })).toMatchObject({
    code: 2,
    err: expect.stringMatching(/stdin ended .*\nTry: to erase without a question: --yes\n$/),
  });
  const right = await world.run(['sources', 'forget', 'acme'], typed('acme'));
  expect([right.code, right.err.includes('cannot be undone')]).toEqual([0, true]);
  expect(right.out).toMatch(/^acme: \d+ rows erased at 20/);
  expect(right.out).toContain('no bytes of it are left in the database files');
  expect([rowsOf(world), identitiesOf(world)]).toEqual([0, 0]);
  const again = await world.run(['sources', 'forget', 'acme', '--yes']);
  expect([again.code, again.err]).toEqual([2, expect.stringContaining('no source is called "acme"')]);
});

test('sources forget records a followed source as forgotten, and sources follow ends that', async () => {
  const world = unlisted();
  register(world);
  await world.run(['sources', 'pause', 'acme']);
  const early = await world.run(['sources', 'follow', 'acme']);
  expect([early.code, early.err]).toEqual([
    2,
    expect.stringContaining('acme was not forgotten: it is connected'),
  ]);
  const { code, out } = await world.run(['sources', 'forget', 'acme', '--yes', '--json']);
  expect(code).toBe(0);
  const receipt = JSON.parse(out) as ForgetSourceReceipt;
  expect(receipt).toMatchObject({
    ...{ source: 'acme', rule: 'crm', target: world.company.id, stays_forgotten: true, bytes: 'scrubbed' },
  });
  expect(receipt.erased_rows).toBeGreaterThan(70);
  expect(registered(world)).toEqual({
    ...{ state: 'erased', reason: 'forgotten', erase_after: null, erased_rows: receipt.erased_rows },
  });
  expect([rowsOf(world), identitiesOf(world)]).toEqual([0, 0]);
  const list = await world.run(['sources', 'list', '--json']);
  expect(JSON.parse(list.out)).toMatchObject({ by_state: { erased: 1, paused: 0, waiting: 1 } });

  const followed = await world.run(['sources', 'follow', 'acme']);
  expect([followed.code, followed.out]).toEqual([
    0,
    `acme: waits for its token; the rule crm follows ${world.company.id} again\n`,
  ]);
  expect(registered(world)).toMatchObject({ state: 'waiting', reason: null });
  const unknown = await world.run(['sources', 'follow', 'nothing']);
  expect([unknown.code, unknown.err]).toEqual([
    2,
    expect.stringContaining('no follow rule created a source called "nothing"'),
  ]);
});

test('sources forget keeps the token of an installation that another source is followed with', async () => {
  const world = unlisted();
  const disconnected_at = '2026-11-02T00:00:00.000Z';
  register(world, { rule: 'old', state: 'disconnected', reason: 'rule_removed', disconnected_at });
  register(world, { source: 'acme-2' });
  const { config } = loadConfig({ cwd: world.folder, env: {} });
  const vault = openVault(config, { clock: systemClock });
  onTestFinished(() => vault.close());
  await vault.write('installation/inst_1', 'at_live_1');
  const { code, out } = await world.run(['sources', 'forget', 'acme', '--yes', '--json']);
  // It was forgotten now, however long it was disconnected.
  expect([code, (JSON.parse(out) as ForgetSourceReceipt).forgotten_at > disconnected_at]).toEqual([0, true]);
  expect(await vault.read('installation/inst_1')).toBe('at_live_1');
  expect((await world.run(['sources', 'forget', 'acme-2', '--yes'])).code).toBe(0);
  expect(await vault.read('installation/inst_1')).toBeNull();
});

test('sources forget scrubs the file all the same when the vault lets nobody remove the token, and says that it is left', async () => {
  const world = unlisted();
  register(world);
  const name = onDatabase(world, (db) =>
    db.prepare<[], string>('SELECT email FROM identities WHERE email IS NOT NULL').pluck().get(),
  );
  const file = join(world.folder, 'mirror.db');
  expect(readFileSync(file).includes(String(name))).toBe(true);
  const { vault } = loadConfig({ cwd: world.folder, env: {} }).config;
  // A folder in the place of the entry, which is not removed as a file is, whoever runs the test.
  mkdirSync(join(vault.folder, fileOfEntry('installation/inst_1')), { recursive: true });
  const { code, err } = await world.run(['sources', 'forget', 'acme', '--yes']);
  expect([code, err]).toEqual([
    2,
    expect.stringContaining(
      'error: acme is erased, but not its token: the vault entry "installation/inst_1" in',
    ),
  ]);
  expect(readFileSync(file).includes(String(name))).toBe(false);
});

test('sources forget finishes an erasure that a crash ended', async () => {
  const world = unlisted();
  register(world, {
    ...{ state: 'disconnected', reason: 'forgotten', disconnected_at: '2026-11-02T00:00:00.000Z' },
    ...{ erase_after: '2026-11-02T00:00:00.000Z' },
  });
  const early = await world.run(['sources', 'follow', 'acme']);
  expect([early.code, early.err]).toEqual([
    2,
    expect.stringContaining('the erasure of acme is not finished'),
  ]);
  const { out } = await world.run(['sources', 'forget', 'acme', '--yes', '--json']);
  expect(JSON.parse(out)).toMatchObject({ forgotten_at: '2026-11-02T00:00:00.000Z', stays_forgotten: true });
  expect(registered(world)).toMatchObject({ state: 'erased', reason: 'forgotten' });
});

test('restore keeps a source erased that the replaced mirror had forgotten, and it is not followed again', async () => {
  const world = unlisted();
  register(world);
  const name = onDatabase(world, (db) =>
    db.prepare<[], string>('SELECT email FROM identities WHERE email IS NOT NULL').pluck().get(),
  );
  expect((await world.run(['backup', 'copy.db'])).code).toBe(0);
  expect((await world.run(['sources', 'forget', 'acme', '--yes'])).code).toBe(0);
  const { code, out } = await world.run(['restore', '--force', 'copy.db']);
  expect([code, out]).toEqual([0, expect.stringContaining('erased again, as in the replaced mirror: acme')]);
  expect([rowsOf(world), identitiesOf(world)]).toEqual([0, 0]);
  expect(registered(world)).toMatchObject({ state: 'erased', reason: 'forgotten' });
  expect(readFileSync(join(world.folder, 'mirror.db')).includes(String(name))).toBe(false);
  const again = await world.run(['restore', '--force', '--json', 'copy.db']);
  expect(JSON.parse(again.out)).toMatchObject({ sources_erased: ['acme'] });
});

test('restore brings back an erased source that is followed again', async () => {
  const world = unlisted();
  register(world);
  const before = rowsOf(world);
  expect((await world.run(['backup', 'copy.db'])).code).toBe(0);
  expect((await world.run(['sources', 'forget', 'acme', '--yes'])).code).toBe(0);
  expect((await world.run(['sources', 'follow', 'acme'])).code).toBe(0);
  const { out } = await world.run(['restore', '--force', '--json', 'copy.db']);
  expect(JSON.parse(out)).toMatchObject({ sources_erased: [] });
  expect([rowsOf(world), registered(world)?.state]).toEqual([before, 'connected']);
});

test('restore of a backup without an erased source does not let a later restore of another one bring it back', async () => {
  const world = await filledMirror();
  onTestFinished(() => world.close());
  expect((await world.run(['backup', 'before.db'])).code).toBe(0);
  await world.sync();
  expect((await world.run(['backup', 'copy.db'])).code).toBe(0);
  const file = join(world.folder, 'config.json');
  const config = JSON.parse(readFileSync(file, 'utf8'));
  const other = { name: 'other', token: { env: 'ACME' }, company: 'co_other' };
  writeFileSync(file, JSON.stringify({ ...config, sources: [other] }));
  expect((await world.run(['sources', 'forget', 'acme', '--yes'])).code).toBe(0);
  for (const [backup, sources_erased] of [
    ['before.db', []],
    ['before.db', []],
    ['copy.db', ['acme']],
  ] as const)
    expect(JSON.parse((await world.run(['restore', '--force', '--json', backup])).out)).toMatchObject({
      sources_erased,
    });
  expect([rowsOf(world), identitiesOf(world)]).toEqual([0, 0]);
  expect(
    onDatabase(world, (db) => db.prepare('SELECT id FROM erasures WHERE id IS NOT NULL').pluck().all()),
  ).toEqual(['acme']);
});

/** A mirror on PostgreSQL with the followed source acme, and a backup of it as `copy.pgbackup`. */
async function backedUpOnPostgres() {
  const world = await filledPostgres();
  onTestFinished(() => world.close());
  expect((await world.run(['sync'])).code).toBe(0);
  world.configure({ sources: [{ name: 'other', token: { env: 'ACME' }, company: 'co_other' }] });
  await world.admin(
    `INSERT INTO followed_sources (source, rule, realm, target_type, target, installation, state, mints, first_seen_at)
     VALUES ('acme', 'crm', 'live', 'company', 'co_1', 'inst_1', 'connected', 1, '2026-11-01T00:00:00.000Z')`,
  );
  const env = { PATH: '/nowhere' };
  expect((await world.run(['backup', 'copy.pgbackup'], { env })).code).toBe(0);
  return { world, env };
}

test('on PostgreSQL, sources forget erases a followed source and records it, and so does a later restore', async () => {
  const { world, env } = await backedUpOnPostgres();
  const { code, out } = await world.run(['sources', 'forget', 'acme', '--yes', '--json']);
  const receipt = JSON.parse(out) as ForgetSourceReceipt;
  expect([code, receipt.stays_forgotten]).toEqual([0, true]);
  const restored = await world.run(['restore', '--force', '--json', 'copy.pgbackup'], { env });
  expect(JSON.parse(restored.out)).toMatchObject({ sources_erased: ['acme'] });
  expect(await world.admin('SELECT 1 FROM rosterd_identity.identity_rows')).toEqual([]);
  expect(await world.admin("SELECT count(*)::int AS n FROM erasures WHERE cause = 'source_erased'")).toEqual([
    { n: 1 },
  ]);
  expect(await world.admin('SELECT state, reason, erased_rows FROM followed_sources')).toMatchObject([
    { state: 'erased', reason: 'forgotten' },
  ]);
  expect(await world.admin(`SELECT 1 FROM investments WHERE source = 'acme'`)).toEqual([]);
  const list = await world.run(['sources', 'list', '--json']);
  expect(JSON.parse(list.out)).toMatchObject({ by_state: { erased: 1 } });
});

test('on PostgreSQL, a restore that ends after its commit leaves an erased source hidden, and the next one erases it', async () => {
  const { world, env } = await backedUpOnPostgres();
  expect((await world.run(['sources', 'forget', 'acme', '--yes'])).code).toBe(0);
  const parts = {
    clock: systemClock,
    env,
    version: '0',
    force: true,
    leaseMs: 30_000,
    identity: 'keep',
  } as const;
  const place = { kind: 'postgres', url: world.administrator, password: null } as const;
  await expect(
    restorePostgres(
      join(world.folder, 'copy.pgbackup'),
      place,
      { ...parts, signal: new AbortController().signal },
      {
        remember: () => [],
        prepare: () => Promise.reject(new Fault('database_full', 'no room')),
      },
    ),
  ).rejects.toMatchObject({
    code: 'database_full',
    message: 'the backup is restored, but no room',
    about: { hint: expect.stringMatching(/^Free space.*Start rosterd, or run this again with --force/) },
  });
  expect(await world.admin('SELECT name, listed_at FROM sources WHERE erasing_since IS NOT NULL')).toEqual([
    { name: 'acme', listed_at: null },
  ]);
  expect(await world.admin('SELECT 1 FROM roster')).toEqual([]);
  expect(await world.admin('SELECT name FROM companies')).toEqual([]);
  expect(await world.admin('SELECT state, reason FROM followed_sources')).toEqual([
    { state: 'erased', reason: 'forgotten' },
  ]);
  const again = await world.run(['restore', '--force', '--json', 'copy.pgbackup'], { env });
  expect(JSON.parse(again.out)).toMatchObject({ sources_erased: ['acme'] });
  expect(await world.admin('SELECT 1 FROM rosterd_identity.identity_rows')).toEqual([]);
  // Of a backup without the source, the mirror keeps in mind what was erased.
  await world.admin('DELETE FROM sources; DELETE FROM erasures; DELETE FROM followed_sources');
  expect((await world.run(['backup', 'empty.pgbackup'], { env })).code).toBe(0);
  await world.admin(
    "INSERT INTO erasures (id, cause, invisible_at) VALUES ('acme', 'source_erased', '2026-11-01T00:00:00.000Z')",
  );
  expect((await world.run(['restore', '--force', 'empty.pgbackup'], { env })).code).toBe(0);
  expect(await world.admin('SELECT id FROM erasures WHERE id IS NOT NULL')).toEqual([{ id: 'acme' }]);
});
