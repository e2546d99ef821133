import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { tempFolder } from '../store/temp-folder.js';
import { placeMigrated } from '../support/migrated-file.js';

const isRoot = process.getuid?.() === 0;

/** Runs the command line as a user who may not read what `chmod` closed: root may read everything. */
async function asOther(args: readonly string[], cwd: string) {
  const child = spawn(process.execPath, [join(packageRoot, 'dist', 'cli', 'main.js'), ...args], {
    cwd,
    env: { PATH: process.env.PATH, TOKEN: 'at_test_acme' },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(isRoot ? { uid: 65_534 } : {}),
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const [code] = await once(child, 'close');
  return { code: code as number | null, out, err };
}

test.skipIf(process.platform === 'win32').each([
  ['folder', 0o000, 0o600],
  ['file', 0o755, 0o000],
])('a mirror in a %s that this user may not read is not called absent', async (_, folderMode, fileMode) => {
  const home = tempFolder();
  const folder = join(home, 'data');
  const file = join(folder, 'mirror.db');
  mkdirSync(folder);
  placeMigrated(file);
  chmodSync(home, 0o755);
  chmodSync(file, fileMode);
  chmodSync(folder, folderMode);
  onTestFinished(() => chmodSync(folder, 0o700));
  for (const args of [['status'], ['query', 'SELECT 1']]) {
    const { code, err } = await asOther([...args, '--database', file], home);
    expect([code, err]).toEqual([
      1,
      `error: ${file} cannot be opened (EACCES)\nTry: Run it as the owner of ${folder}, such as with sudo -u rosterd, or let this user read both.\n`,
    ]);
  }
});

/** A mirror of one source, which belongs to the user that `asOther` runs as, except for what `denies` changes. */
function deniedMirror(denies: (file: string) => void) {
  const home = tempFolder();
  chmodSync(home, 0o755);
  const folder = join(home, 'data');
  const file = join(folder, 'mirror.db');
  mkdirSync(folder);
  placeMigrated(file);
  const config = {
    platform: { baseUrl: 'http://127.0.0.1:1' },
    database: 'sqlite:data/mirror.db',
    sources: [{ name: 'acme', token: { env: 'TOKEN' } }],
    console: null,
  };
  writeFileSync(join(home, 'config.json'), JSON.stringify(config));
  // Leaves its log beside it.
  openSqlite(file).close();
  if (isRoot)
    for (const path of [folder, file, `${file}-wal`, `${file}-shm`]) chownSync(path, 65_534, 65_534);
  denies(file);
  onTestFinished(() => chmodSync(folder, 0o700));
  return { home, folder, file };
}

test.skipIf(process.platform === 'win32')(
  'a mirror that this user may not write to: every command that writes names the file, the permission and what to do',
  async () => {
    const { home, file } = deniedMirror((file) => chmodSync(file, 0o400));
    const what = `${file} may not be written to (EACCES)`;
    for (const args of [['sync'], ['verify'], ['verify', '--json']]) {
      const { code, err } = await asOther(args, home);
      const advice = args[0] === 'sync' ? 'The fetched pages are kept. Try' : 'Try';
      expect([args, code, err.split('\n').slice(-3)]).toEqual([
        args,
        1,
        args.includes('--json')
          ? expect.anything()
          : [
              `error: acme: ${what} (chmod u+rw ${file})`,
              `${advice}: rosterd doctor, which examines the database`,
              '',
            ],
      ]);
    }
    const paused = await asOther(['sources', 'pause', 'acme'], home);
    expect([paused.code, paused.err]).toEqual([1, `error: ${what}\nTry: chmod u+rw ${file}\n`]);
    const { out } = await asOther(['doctor', '--brief'], home);
    expect(out).toContain(`fail  database.file: ${what}\n      Try: chmod u+rw ${file}\n`);
    expect((await asOther(['status'], home)).code).toBe(0);
  },
);

// Only root can take a file away from the user of the command.
test.skipIf(!isRoot)(
  "a mirror of another user, which others may read: sync reports the owner's permission, and no bug",
  async () => {
    const { home, file } = deniedMirror((file) => {
      for (const path of [file, `${file}-wal`, `${file}-shm`]) {
        chownSync(path, 0, 0);
        chmodSync(path, 0o644);
      }
    });
    const { code, err } = await asOther(['sync'], home);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining(
        `error: acme: ${file} may not be written to (EACCES) (run it as the owner of ${file}, such as with sudo -u`,
      ),
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o644);
    chmodSync(`${file}-wal`, 0o600);
    expect((await asOther(['status'], home)).err).toContain(`error: ${file}-wal may not be read (EACCES)\n`);
  },
);

test.skipIf(process.platform === 'win32')(
  'a mirror without its log in a folder that this user may not write to: the message names the folder',
  async () => {
    const { home, folder } = deniedMirror((file) => {
      for (const path of [`${file}-wal`, `${file}-shm`]) rmSync(path);
      chmodSync(dirname(file), 0o555);
    });
    for (const args of [['status'], ['sync'], ['verify']]) {
      const { code, err } = await asOther(args, home);
      expect([args, code, err]).toEqual([
        args,
        1,
        `error: ${folder} may not be written to, and SQLite has to create mirror.db-wal there, even to read the database (EACCES)\nTry: chmod u+rwx ${folder}\n`,
      ]);
    }
  },
);

test.skipIf(process.platform === 'win32')(
  'an export and a lake below a folder that this user may not enter: the message names it',
  async () => {
    const home = tempFolder();
    const file = join(home, 'mirror.db');
    const closed = join(home, 'closed');
    placeMigrated(file);
    mkdirSync(closed);
    if (isRoot) for (const one of [home, file]) chownSync(one, 65_534, 65_534);
    chmodSync(closed, 0o000);
    onTestFinished(() => chmodSync(closed, 0o700));
    for (const [args, told] of [
      [['export', '--out', 'closed/x.csv'], `cannot write to ${closed} (EACCES)`],
      [['export', '--format', 'founder-csv', '--out', 'closed/x.csv'], `cannot write to ${closed} (EACCES)`],
      [['export', '--out', 'closed/x/'], `${join(closed, 'x')} cannot be read (EACCES)`],
      [
        ['export', '--table', 'rounds', '--table', 'companies', '--out', 'closed/x'],
        `${join(closed, 'x')} cannot be read (EACCES)`,
      ],
      [['lake', 'sync', 'closed/lake'], `${join(closed, 'lake')} cannot be read (EACCES)`],
    ] as const) {
      const { code, err } = await asOther([...args, '--database', 'mirror.db'], home);
      expect([args, code, err]).toEqual([args, 2, expect.stringContaining(`error: ${told}\nTry: `)]);
    }
  },
);

test.skipIf(process.platform === 'win32')(
  'service install in an image that this user may not look into: no bug, and what is missing',
  async () => {
    const home = tempFolder();
    chmodSync(home, 0o755);
    const closed = join(home, 'closed');
    mkdirSync(join(closed, 'etc/units'), { recursive: true });
    chmodSync(closed, 0o000);
    onTestFinished(() => chmodSync(closed, 0o700));
    const dry = await asOther(['service', 'install', '--root', 'closed', '--dry-run'], home);
    expect([dry.code, dry.err.includes('unexpected')]).toEqual([0, false]);
    chmodSync(closed, 0o755);
    chmodSync(join(closed, 'etc/units'), 0o000);
    const args = ['service', 'install', '--root', closed, '--dry-run', '--config', '/etc/units/x.json'];
    const { code, err } = await asOther(args, home);
    expect([code, err]).toEqual([
      2,
      `error: ${closed}/etc/units cannot be read (EACCES)\nTry: run it as root\n`,
    ]);
  },
);

test.skipIf(process.platform === 'win32').each([
  ['the folder', 'lake', '_current.json'],
  ['its state', 'lake/_current.json', '_current.json'],
  [
    'a file',
    'lake/companies/000000000001-whole-aaaaaaaa.parquet',
    'companies/000000000001-whole-aaaaaaaa.parquet',
  ],
])('a lake of which this user may not read %s is neither absent nor damaged', async (_, denied, named) => {
  const home = tempFolder();
  chmodSync(home, 0o755);
  const folder = join(home, 'lake');
  const file = 'companies/000000000001-whole-aaaaaaaa.parquet';
  mkdirSync(join(folder, 'companies'), { recursive: true });
  writeFileSync(join(folder, file), 'x');
  const position = { change_seq: 0, change_mark: '', erasure_mark: '', sources: [] };
  const about = { format: 'rosterd-lake', version: 1, snapshot: 1 };
  const none = { columns: [], files: [] };
  const tables = {
    investments: { ...none, base_snapshot: 1 },
    investment_changes: { ...none, complete_after: 1 },
    companies: { columns: [], files: [{ path: file, rows: 1, bytes: 1, sha256: '' }] },
    rounds: none,
  };
  const manifest = JSON.stringify({ ...about, taken_at: '2026-11-01T00:00:00.000Z', position, tables });
  mkdirSync(join(folder, '_snapshots'));
  writeFileSync(join(folder, '_snapshots', '000000000001.json'), manifest);
  const digest = createHash('sha256').update(manifest).digest('hex');
  const pointer = { ...about, manifest: '_snapshots/000000000001.json', manifest_sha256: digest };
  writeFileSync(join(folder, '_current.json'), JSON.stringify({ ...pointer, position, identities: null }));
  chmodSync(join(home, denied), 0o000);
  onTestFinished(() => chmodSync(join(home, denied), 0o700));
  const { code, err } = await asOther(['lake', 'check', 'lake'], home);
  expect([code, err]).toEqual([
    2,
    `error: ${join(folder, named)} cannot be read (EACCES)\nTry: run it as the user who owns that path, or let this user read it\n`,
  ]);
});

test.skipIf(process.platform === 'win32')(
  'a secret file and the file of a sandbox that this user may not read are named with what to do',
  async () => {
    const home = tempFolder();
    chmodSync(home, 0o777);
    const closed = join(home, 'closed');
    mkdirSync(closed);
    const token = join(closed, 'token');
    const sources = [{ name: 'acme', token: { file: token } }];
    const config = { platform: { baseUrl: 'http://127.0.0.1:1' }, sources, database: 'sqlite:mirror.db' };
    writeFileSync(join(home, 'config.json'), JSON.stringify(config));
    chmodSync(closed, 0o000);
    onTestFinished(() => chmodSync(closed, 0o700));
    const sync = await asOther(['sync'], home);
    expect([sync.code, sync.err]).toEqual([
      2,
      expect.stringMatching(/: sources\[0\]\.token: .* cannot be read \(EACCES\)\nTry: run it as the owner /),
    ]);
    const world = join(closed, 'world.db');
    const sandbox = await asOther(['sandbox', '--data', world], home);
    expect([sandbox.code, sandbox.err]).toEqual([
      2,
      expect.stringContaining(`error: --data: ${world} cannot be used (EACCES)\n`),
    ]);
  },
);
