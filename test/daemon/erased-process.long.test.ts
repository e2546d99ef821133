import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { packageRoot } from '../../src/runtime/package-root.js';
import { control, freshFolder, sandboxFor } from './daemon-fixture.js';

/** Runs `rosterd` as a child process and stores its output in the folder, like an operator's log. */
function rosterd(folder: string, args: readonly string[], token: string) {
  const main = join(packageRoot, 'dist', 'cli', 'main.js');
  const child = spawn(process.execPath, [main, ...args, '--config', join(folder, 'config.json')], {
    cwd: packageRoot,
    env: { PATH: process.env.PATH, ACME: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      printed += String(chunk);
      writeFileSync(join(folder, `${args[0]}.log`), printed);
    });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

const ended = async (child: ChildProcess): Promise<number | null> =>
  child.exitCode ?? ((await once(child, 'close')) as [number | null])[0];

/** Returns the files below the folder, of any kind, that contain the text. */
function filesHolding(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text));
}

test('a person erased by a running daemon is in no file it wrote: database, write-ahead log, backups, ledger, output', async () => {
  const sandbox = await sandboxFor({ seed: 7, companies: 1, records: 40, limits: false });
  const [company] = sandbox.ready.companies;
  if (company === undefined) throw new Error('a sandbox without a company');
  const folder = freshFolder();
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({
      platform: { baseUrl: sandbox.url },
      database: 'sqlite:./data/mirror.db',
      sources: [{ name: 'acme', token: { env: 'ACME' }, company: company.id }],
      sync: { intervalSeconds: 5 },
      console: null,
      log: { level: 'debug', format: 'json' },
    }),
  );
  const file = join(folder, 'data', 'mirror.db');
  const read = <Row>(sql: string): Row[] => {
    const reader = new Sqlite(file, { readonly: true });
    try {
      const statement = reader.prepare<[], Row>(sql);
      if (statement.reader) return statement.all();
      statement.run();
      return [];
    } finally {
      reader.close();
    }
  };
  const daemon = rosterd(folder, ['run'], company.token);
  const state = () => {
    try {
      return read<{ state: string }>('SELECT state FROM sources')[0]?.state;
    } catch {
      return 'not there yet';
    }
  };
  const patient = { interval: 200 };
  await expect.poll(state, patient).toBe('following');
  const people = read<{ id: string; investor_id: string; email: string }>(
    `SELECT i.id, i.investor_id, p.email FROM investments i JOIN identities p USING (source, id)
     WHERE p.email IS NOT NULL AND i.investor_id IS NOT NULL GROUP BY p.email HAVING count(*) = 1 ORDER BY i.id`,
  );
  const [withdrawn, forgotten, kept] = people;
  if (withdrawn === undefined || forgotten === undefined || kept === undefined)
    throw new Error('too few people');
  read(`VACUUM INTO '${file}.schema-0001.bak'`);
  for (const { email } of [withdrawn, forgotten, kept])
    expect(filesHolding(folder, email)).toContain(`${file}.schema-0001.bak`);

  await control(sandbox, 'DELETE', `/investments/${withdrawn.id}`);
  await expect.poll(() => filesHolding(folder, withdrawn.email), patient).toEqual([]);
  // The daemon keeps running: it finishes the scrub when the command's own scrub finds the file locked.
  expect(await ended(rosterd(folder, ['forget', forgotten.investor_id], company.token))).toBe(0);
  await expect.poll(() => filesHolding(folder, forgotten.email), patient).toEqual([]);
  expect(filesHolding(folder, kept.email)).toContain(file);

  daemon.kill('SIGTERM');
  expect(await ended(daemon)).toBe(0);
  for (const { email } of [withdrawn, forgotten]) expect(filesHolding(folder, email)).toEqual([]);
  expect(readdirSync(join(folder, 'credentials'))).toEqual(['forgotten.jsonl']);
});
