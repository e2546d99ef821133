import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { tempFolder } from '../store/temp-folder.js';
import { placeMigrated } from '../support/migrated-file.js';

const isRoot = process.getuid?.() === 0;

/** Runs the command line as a user who may not read what `chmod` closed: root may read everything. */
async function asOther(args: readonly string[], cwd: string) {
  const child = spawn(process.execPath, [join(packageRoot, 'dist', 'cli', 'main.js'), ...args], {
    cwd,
    env: { PATH: process.env.PATH },
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

test.skipIf(process.platform === 'win32')(
  'a mirror that this user may not write to: sync names the doctor, which names the file',
  async () => {
    const home = tempFolder();
    const file = join(home, 'mirror.db');
    placeMigrated(file);
    const config = {
      platform: { baseUrl: 'http://127.0.0.1:1' },
      database: 'sqlite:mirror.db',
      sources: [{ name: 'acme', token: 'at_test_acme' }],
      console: null,
    };
    writeFileSync(join(home, 'config.json'), JSON.stringify(config));
    chmodSync(file, 0o400);
    if (isRoot) for (const one of [home, file]) chownSync(one, 65_534, 65_534);
    const synced = await asOther(['sync'], home);
    expect([synced.code, synced.err]).toEqual([
      1,
      expect.stringMatching(
        /SQLITE_READONLY.*\nThe fetched pages are kept. Try: rosterd doctor, which examines/,
      ),
    ]);
    const { out } = await asOther(['doctor', '--brief'], home);
    expect(out).toContain(
      `fail  database.file: ${file} may not be written to (EACCES)\n      Try: chmod u+rw ${file}, or chown it`,
    );
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
