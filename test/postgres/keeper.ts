import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { lastingPort } from '../support/free-port.js';
import { type Binaries, enterableFolder, findBinaries } from './binaries.js';

/*
 * Runs one PostgreSQL for as long as standard input stays open, which closes when the process that started this
 * one ends, however it ends. Then it deletes the server and its data. Accepts the lines `stop` and `start`, for
 * tests of a database that is unreachable for a while.
 *
 * Writes lines of JSON: {"url"} once it is ready, {"done"} after each order, {"failed"} when it gives up.
 */

const password = process.argv[2] ?? '';
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

// A key pressed in the terminal signals the whole process group; this process ends when the pipe closes instead.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

/** No data has to survive a power cut; everything else is a server's default. */
const settings = [
  'fsync=off',
  'full_page_writes=off',
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=200',
];

let binaries: Binaries | undefined;
const folder = enterableFolder('rosterd-pgdata-');
const data = join(folder, 'data');
let server: ReturnType<typeof spawn> | undefined;

try {
  binaries = findBinaries();
  const port = await lastingPort();
  makeCluster(binaries);
  await start(binaries, port);
  say({ url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres` });
  for await (const order of createInterface({ input: process.stdin })) {
    if (order === 'stop') await stop('SIGINT');
    else if (order === 'start') await start(binaries, port);
    say({ done: order });
  }
} catch (error) {
  say({ failed: error instanceof Error ? error.message : String(error) });
} finally {
  // Its data is not needed any more: no shutdown checkpoint.
  await stop('SIGQUIT');
  rmSync(folder, { recursive: true, force: true });
  if (binaries?.copy != null) rmSync(binaries.copy, { recursive: true, force: true });
}

function makeCluster({ initdb, owner }: Binaries): void {
  mkdirSync(data, { mode: 0o700 });
  const secret = join(folder, 'password');
  writeFileSync(secret, password, { mode: 0o600 });
  if (owner.uid !== undefined && owner.gid !== undefined)
    for (const path of [data, secret]) chownSync(path, owner.uid, owner.gid);
  chmodSync(folder, 0o755);
  // Sorts by language rules, like most servers: code that relies on byte order must say so.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en'];
  const { status, stderr, error } = spawnSync(
    initdb,
    ['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${secret}`, '--no-sync', ...locale],
    { ...owner, cwd: '/', encoding: 'utf8' },
  );
  rmSync(secret);
  if (status !== 0) throw new Error(`initdb failed: ${error?.message ?? stderr.trim()}`);
}

async function start({ postgres, owner }: Binaries, port: number): Promise<void> {
  const flags = [...settings, `port=${port}`].flatMap((setting) => ['-c', setting]);
  const child = spawn(postgres, ['-D', data, ...flags], {
    ...owner,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  server = child;
  await new Promise<void>((resolve, reject) => {
    let log = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      if (log.length < 100_000) log += text;
      if (log.includes('database system is ready to accept connections')) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`PostgreSQL ended at its start: ${log.trim()}`)));
  });
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  const child = server;
  server = undefined;
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}
