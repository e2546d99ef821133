import { spawn } from 'node:child_process';
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
