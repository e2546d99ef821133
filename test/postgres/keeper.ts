import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { freePort } from '../support/free-port.js';
import { type Binaries, clusterOptions, findBinaries, settingsVariable } from './binaries.js';
import type { KeeperOptions } from './server.js';

/*
 * Runs one PostgreSQL for as long as standard input stays open, which closes when the process that started this
 * one ends, however it ends. Then it deletes the server and its data. Accepts lines: `stop` and `start`, for tests of a
 * database that is unreachable for a while, `kill`, which ends every process of the server at once, and `crash`, which
 * ends one of them, so that the server ends the others and recovers by itself.
 *
 * Writes lines of JSON: {"url", "data"} once it is ready, {"done"} or {"refused"} after each order, {"failed"} when it
 * gives up.
 */

const { password, base, settings: more }: KeeperOptions = JSON.parse(process.argv[2] ?? '{}');
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

// A key pressed in the terminal signals the whole process group; this process ends when the pipe closes instead.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

/** No data has to survive a power cut; everything else is a server's default, unless a run of the tests asks for other settings. */
const settings = [
  'fsync=off',
  'full_page_writes=off',
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'max_connections=200',
  ...more,
  ...(process.env[settingsVariable] ?? '').split(';').filter(Boolean),
];

let binaries: Binaries | undefined;
const folder = mkdtempSync(join(base ?? tmpdir(), 'rosterd-pgdata-'));
chmodSync(folder, 0o755);
const data = join(folder, 'data');
let server: ReturnType<typeof spawn> | undefined;

try {
  binaries = findBinaries();
  const port = await freePort();
  makeCluster(binaries);
  await start(binaries, port);
  say({ url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, data });
  for await (const order of createInterface({ input: process.stdin })) {
    try {
      if (order === 'stop') await stop('SIGINT');
      else if (order === 'kill') await killAll();
      else if (order === 'crash') crash();
      else if (order === 'start') await start(binaries, port);
      say({ done: order });
    } catch (error) {
      say({ refused: String(error) });
    }
  }
} catch (error) {
  say({ failed: error instanceof Error ? error.message : String(error) });
} finally {
  // Its data is not needed any more: no shutdown checkpoint.
  await stop('SIGQUIT');
  rmSync(folder, { recursive: true, force: true });
  if (binaries?.copy != null) rmSync(binaries.copy, { recursive: true, force: true });
}

function makeCluster(found: Binaries): void {
  const { initdb, owner } = found;
  mkdirSync(data, { mode: 0o700 });
  const secret = join(folder, 'password');
  writeFileSync(secret, password, { mode: 0o600 });
  if (owner.uid !== undefined && owner.gid !== undefined)
    for (const path of [data, secret]) chownSync(path, owner.uid, owner.gid);
  chmodSync(folder, 0o755);
  const { status, stderr, error } = spawnSync(
    initdb,
    [
      ...['-D', data, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${secret}`, '--no-sync'],
      ...clusterOptions(found),
    ],
    { ...owner, cwd: '/', encoding: 'utf8' },
  );
  rmSync(secret);
  if (status !== 0) throw new Error(`initdb failed: ${error?.message ?? stderr.trim()}`);
}

/** Does nothing while it runs. */
async function start({ postgres, owner }: Binaries, port: number): Promise<void> {
  if (server !== undefined && server.exitCode === null && server.signalCode === null) return;
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
      if (/database system is ready to accept (?:read-only )?connections/.test(log)) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`PostgreSQL ended at its start: ${log.trim()}`)));
  });
}

/** The processes that the postmaster started. */
function children(pid: number): readonly number[] {
  if (!existsSync('/proc'))
    return spawnSync('pgrep', ['-P', `${pid}`], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter(Boolean)
      .map(Number);
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
}

/** Ends every process at the same time, like the kernel of a host that runs out of memory. Resolves once all are gone. */
async function killAll(): Promise<void> {
  const pid = server?.pid;
  if (pid === undefined) return;
  const all = [pid, ...children(pid)];
  for (const one of all) signalled(one, 'SIGKILL');
  await stop('SIGKILL');
  while (all.some((one) => signalled(one, 0))) await setTimeout(10);
}

/** Ends one process of the server, preferably one that serves a connection: those are the last it started. */
function crash(): void {
  const pid = server?.pid;
  const last = pid === undefined ? undefined : children(pid).at(-1);
  if (last !== undefined) signalled(last, 'SIGKILL');
}

function signalled(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  const child = server;
  server = undefined;
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}
