import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { basename, dirname, resolve } from 'node:path';
import type { Config } from '../config/config.js';
import { configFrom } from '../config/config-from.js';
import { sqliteFileOf } from '../config/database.js';
import { Secret } from '../config/secrets.js';
import { settingsSchema } from '../config/settings.js';
import { type Daemon, startDaemon } from '../daemon/daemon.js';
import { type EngineParts, startEngine } from '../daemon/engine.js';
import { Fault } from '../domain/fault.js';
import { startActivity } from '../platform/sandbox/activity.js';
import { statusOf } from '../reading/status.js';
import type { Clock } from '../runtime/clock.js';
import { type Closable, Lifecycle } from '../runtime/lifecycle.js';
import { isProcessGone, processName } from '../runtime/process-identity.js';
import { makeRoom, unwritable } from '../runtime/unwritable.js';
import type { TickListener } from '../sync/sync.js';
import { demoMarkOf } from './demo-mark.js';
import { openSandbox, type Sandbox, type SandboxOptions } from './sandbox.js';

export interface DemoParts extends Omit<EngineParts, 'config'> {
  /** The file of the mirror: created, or reused from an earlier demonstration. */
  readonly file: string;
  readonly sandbox: SandboxOptions;
  /** Mean pause between two random changes on the platform. */
  readonly pauseMillis: number;
  readonly onTick: TickListener;
}

export interface Demo extends Closable {
  readonly sandbox: Sandbox;
  readonly daemon: Daemon;
  readonly receiverUrl: string;
  /** Investments mirrored when it started. */
  readonly rows: number;
}

const receiverPort = 8787;
const consolePort = 8788;

/** Starts platform, daemon and random activity in one process. Resolves when every source is mirrored. */
export async function startDemo(parts: DemoParts): Promise<Demo> {
  claim(parts.file);
  const lifecycle = new Lifecycle();
  lifecycle.add('lock', lock(parts.file));
  try {
    const { logger } = parts;
    const sandbox = await openSandbox({ allowLoopbackWebhooks: true, logger, ...parts.sandbox });
    lifecycle.add('sandbox', () => sandbox.close());
    const port = await freePort(receiverPort);
    const url = `http://127.0.0.1:${port}/webhooks`;
    const ports = { receiver: port, console: await freePort(consolePort) };
    const config = demoConfig(parts.file, sandbox, ports, await registerWebhook(sandbox, url));
    await refuseForeignSources(config, parts.clock);
    await listAnew({ ...parts, config });
    const daemon = await startDaemon({ ...parts, config });
    lifecycle.add('daemon', () => daemon.close());
    daemon.engine.sync.onTick(parts.onTick);
    const activity = startActivity(sandbox.services, parts.pauseMillis);
    lifecycle.add('activity', () => activity.close());
    const { sources } = await statusOf({ kind: 'sqlite', file: parts.file }, parts.clock);
    const rows = sources.reduce((sum, source) => sum + source.rows, 0);
    return { sandbox, daemon, rows, receiverUrl: url, close: () => lifecycle.close() };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

/**
 * Every start creates a new platform with a new feed. Sources of an earlier demonstration are listed again before the
 * daemon starts, which would otherwise report for each one that its fingerprint changed.
 */
async function listAnew(parts: EngineParts): Promise<void> {
  const engine = await startEngine(parts);
  try {
    const ask = { resync: true, acceptDeletions: true };
    await Promise.all(parts.config.sources.map(({ name }) => engine.sync.tick(name, ask)));
  } finally {
    await engine.close();
  }
}

/** Throws `usage` for a mirror without a demonstration mark: real records must not be overwritten by invented ones. */
function claim(file: string): void {
  const mark = demoMarkOf(file);
  if (existsSync(file) && !existsSync(mark)) {
    throw new Fault('usage', `${file} exists and was not made by a demonstration`, {
      hint: 'rosterd demo --database ./data/demo.db',
    });
  }
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(mark, `${basename(file)} holds invented people; rosterd demo may overwrite it.\n`, {
      mode: 0o600,
    });
  } catch (cause) {
    if (!existsSync(file)) rmSync(mark, { force: true });
    throw unwritableFolder(file, cause);
  }
}

function unwritableFolder(file: string, cause: unknown): Fault {
  const { code, message } = unwritable(dirname(file), cause);
  const hint = code === 'usage' ? 'rosterd demo --database FILE, in a folder of yours' : makeRoom;
  return new Fault(code, message, { hint, cause });
}

/**
 * Locks the file: two demonstrations on one file would each delete the other's records. The lock names its process, so
 * that the lock of a killed process does not block the next one. Returns the function that releases it.
 */
function lock(file: string): () => void {
  const path = `${file}.demo.lock`;
  const release = () => rmSync(path, { force: true });
  for (;;) {
    try {
      writeFileSync(path, processName(), { flag: 'wx', mode: 0o600 });
      return release;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
        release();
        throw unwritableFolder(file, error);
      }
    }
    const holder = readFileSync(path, 'utf8');
    if (holder !== '' && !isProcessGone(holder)) throw running(file, path, holder);
    // Repeats at most once for each process that died while holding the lock.
    release();
  }
}

function running(file: string, path: string, holder: string): Fault {
  const [host, pid] = holder.split(':');
  return new Fault('usage', `a demonstration is running on ${file} already: process ${pid} of ${host}`, {
    hint: `stop that one, or \`rosterd demo --database ./data/demo-2.db\`; if it is gone, delete ${path}`,
  });
}

/** Throws `usage` when the file also contains sources that are not from a demonstration. */
async function refuseForeignSources({ database, sources }: Config, clock: Clock): Promise<void> {
  const file = sqliteFileOf(database);
  if (!existsSync(file)) return;
  const demoSources = new Set<string>(sources.map(({ name }) => name));
  const foreign = (await statusOf(database, clock)).sources.find(({ source }) => !demoSources.has(source));
  if (foreign === undefined) return;
  throw new Fault('usage', `${file} also holds the source ${foreign.source}, which is none of ours`, {
    hint: 'rosterd demo --database ./data/demo.db',
  });
}

interface Ports {
  readonly receiver: number;
  readonly console: number;
}

function demoConfig(file: string, { ready }: Sandbox, ports: Ports, secret: string): Config {
  const settings = settingsSchema.parse({
    // The sandbox of a demonstration has no request limit.
    platform: { baseUrl: ready.baseUrl, requestsPerHour: null },
    database: `sqlite:${file}`,
    sources: ready.companies.map((company) => ({
      name: nameOf(company.name),
      token: company.token,
      company: company.id,
      installation: company.installation,
    })),
    receiver: { listen: `127.0.0.1:${ports.receiver}`, secrets: [{ env: 'DEMO' }] },
    console: { listen: `127.0.0.1:${ports.console}` },
  });
  const around = { env: {}, folderOf: () => dirname(resolve(file)) };
  const config = configFrom(settings, around);
  if (config.receiver === null) throw new Error('the demonstration has a receiver');
  const secrets = [new Secret('receiver.secrets[0]', secret, { env: {}, folder: '.' })];
  return { ...config, receiver: { ...config.receiver, secrets } };
}

const nameOf = (company: string): string =>
  company
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

async function registerWebhook(sandbox: Sandbox, url: string): Promise<string> {
  const response = await fetch(`${sandbox.ready.control}/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url, events: ['investment.changed'] }),
  });
  const { secret } = (await response.json()) as { readonly secret?: unknown };
  if (typeof secret !== 'string') throw new Error(`the sandbox did not take the webhook: ${response.status}`);
  return secret;
}

/** Returns the usual port if it is free, otherwise any: a webhook is registered before its receiver listens. */
async function freePort(wanted: number): Promise<number> {
  const probe = (port: number) =>
    new Promise<number>((found, failed) => {
      const server = createServer();
      server.once('error', failed);
      server.listen(port, '127.0.0.1', () => {
        const address = server.address();
        server.close(() => found(typeof address === 'object' && address !== null ? address.port : port));
      });
    });
  return await probe(wanted).catch(() => probe(0));
}
