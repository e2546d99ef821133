import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
import type { Blocking } from '../runtime/blocking.js';
import type { Clock } from '../runtime/clock.js';
import { fetchDirectly } from '../runtime/direct-fetch.js';
import { makeFolders } from '../runtime/file-owner.js';
import { type Closable, Lifecycle } from '../runtime/lifecycle.js';
import { isProcessGone, processName } from '../runtime/process-identity.js';
import { unwritable } from '../runtime/unwritable.js';
import { onUsualPorts } from '../runtime/usual-ports.js';
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
  /** Runs what blocks the event loop: the seeding of the platform. */
  readonly blocking: Blocking;
  /** Ends the start. It is ignored once the demonstration runs. */
  readonly signal: AbortSignal;
}

export interface Demo extends Closable {
  readonly sandbox: Sandbox;
  readonly daemon: Daemon;
  readonly receiverUrl: string;
  /** Investments mirrored when it started. */
  readonly rows: number;
}

const usualPorts = { receiver: 8787, console: 8788 };

/**
 * Starts platform, daemon and random activity in one process. Resolves when every source is mirrored. Throws `stopped`
 * when the signal aborts before.
 */
export async function startDemo(parts: DemoParts): Promise<Demo> {
  claim(parts.file);
  const lifecycle = new Lifecycle();
  lifecycle.add('lock', lock(parts.file));
  try {
    const { blocking, logger, signal } = parts;
    const goOn = () => {
      if (signal.aborted) throw new Fault('stopped', 'the demonstration was stopped while it started');
    };
    const sandbox = await blocking(async () => {
      goOn();
      return await openSandbox({ allowLoopbackWebhooks: true, logger, ...parts.sandbox });
    });
    lifecycle.add('sandbox', () => sandbox.close());
    const config = demoConfig(parts.file, sandbox);
    await refuseForeignSources(config, parts.clock);
    goOn();
    await listAnew({ ...parts, config }, signal);
    goOn();
    const { daemon, receiverUrl } = await startListening({ ...parts, config }, sandbox);
    lifecycle.add('daemon', () => daemon.close());
    daemon.engine.sync.onTick(parts.onTick);
    const activity = startActivity(sandbox.services, parts.pauseMillis);
    lifecycle.add('activity', () => activity.close());
    const { sources } = await statusOf({ kind: 'sqlite', file: parts.file }, parts.clock);
    const rows = sources.reduce((sum, source) => sum + source.rows, 0);
    return { sandbox, daemon, rows, receiverUrl, close: () => lifecycle.close() };
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
}

/**
 * Every start creates a new platform with a new feed. Sources of an earlier demonstration are listed again before the
 * daemon starts, which would otherwise report for each one that its fingerprint changed.
 */
async function listAnew(parts: EngineParts, signal: AbortSignal): Promise<void> {
  const engine = await startEngine(parts);
  // Running ticks finish the page they write, and the others end before their first.
  const stop = () => void engine.sync.close();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const ask = { resync: true, acceptDeletions: true };
    const ticks = parts.config.sources.map(({ name }) => engine.sync.tick(name, ask));
    // The signal may have fired while the mirror was opened.
    if (signal.aborted) stop();
    await Promise.all(ticks);
  } finally {
    signal.removeEventListener('abort', stop);
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
    makeFolders(dirname(file));
    writeFileSync(mark, `${basename(file)} holds invented people; rosterd demo may overwrite it.\n`, {
      mode: 0o600,
    });
  } catch (cause) {
    // A name that is too long cannot even be removed.
    if (!existsSync(file) && existsSync(mark)) rmSync(mark, { force: true });
    throw unwritableFolder(file, cause);
  }
}

function unwritableFolder(file: string, cause: unknown): Fault {
  if ((cause as NodeJS.ErrnoException).code === 'ENAMETOOLONG')
    return new Fault('usage', `${file} is too long a name for a file (ENAMETOOLONG)`, {
      hint: 'rosterd demo --database ./data/demo.db',
      cause,
    });
  const fault = unwritable(dirname(file), cause);
  if (fault.code !== 'usage') return fault;
  return new Fault('usage', fault.message, {
    hint: 'rosterd demo --database FILE, in a folder of yours',
    cause,
  });
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
        if (existsSync(path)) release();
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

/** The webhook is registered before its receiver listens, and forgotten if the receiver or the console cannot. */
async function startListening(
  parts: EngineParts,
  sandbox: Sandbox,
): Promise<{ daemon: Daemon; receiverUrl: string }> {
  return await onUsualPorts(usualPorts, async (ports) => {
    const receiverUrl = `http://127.0.0.1:${ports.receiver}/webhooks`;
    const webhook = await registerWebhook(sandbox, receiverUrl);
    try {
      const config = withListeners(parts.config, ports, webhook.secret);
      return { daemon: await startDaemon({ ...parts, config }), receiverUrl };
    } catch (error) {
      await fetchDirectly(`${sandbox.ready.control}/webhooks/${webhook.id}`, { method: 'DELETE' });
      throw error;
    }
  });
}

/** The addresses of receiver and console are added when they are known. */
function demoConfig(file: string, { ready }: Sandbox): Config {
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
    receiver: { secrets: [{ env: 'DEMO' }] },
  });
  return configFrom(settings, { env: {}, folderOf: () => dirname(resolve(file)) });
}

function withListeners(config: Config, ports: typeof usualPorts, secret: string): Config {
  const { receiver, console } = config;
  if (receiver === null || console === null) throw new Error('a demonstration has a receiver and a console');
  const secrets = [new Secret('receiver.secrets[0]', secret, { env: {}, folder: '.' })];
  const at = (port: number) => ({ host: '127.0.0.1', port });
  return {
    ...config,
    receiver: { ...receiver, listen: at(ports.receiver), secrets },
    console: { ...console, listen: at(ports.console) },
  };
}

const nameOf = (company: string): string =>
  company
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

async function registerWebhook(sandbox: Sandbox, url: string): Promise<{ id: string; secret: string }> {
  const response = await fetchDirectly(`${sandbox.ready.control}/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url, events: ['investment.changed'] }),
  });
  const { id, secret } = JSON.parse(await response.text()) as {
    readonly id?: unknown;
    readonly secret?: unknown;
  };
  if (typeof id !== 'string' || typeof secret !== 'string')
    throw new Error(`the sandbox did not take the webhook: ${response.status}`);
  return { id, secret };
}
