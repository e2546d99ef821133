import { readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Config } from '../config/config.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthReport, Wait } from '../runtime/health-register.js';
import { writePrivateFile } from '../runtime/private-file.js';
import { isProcessGone, isProcessThere, processName } from '../runtime/process-identity.js';
import { type DatabaseLocation, locationText } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import type { WebhookSpacings } from './webhook-spacing.js';

/*
 * How `rosterd status` finds a running daemon and asks it what the database cannot contain: failures that could not be
 * written. A daemon with a console writes a file, readable by its owner only, with its process, the address of the
 * console, and a key that grants access to `/daemon.json` and nothing else. A user who can read that file can read the
 * database as well, so no sign-in is needed. The daemon deletes the file when it stops; the file of a killed daemon is
 * deleted by the next one.
 */

/** The content of the file for `rosterd status`. */
export interface DaemonAddress {
  readonly process: string;
  /** Several databases may share a folder. */
  readonly database: string;
  readonly url: string;
  readonly key: string;
}

/** A daemon on this host, at the time it was asked. */
export interface DaemonSeen {
  readonly pid: number;
  readonly console_url: string | null;
  /** `silent`: its process runs but did not answer, so that its health is unknown. */
  readonly state: 'answers' | 'silent';
}

export interface DaemonAsked {
  readonly daemons: readonly DaemonSeen[];
  readonly problems: readonly HealthReport[];
  readonly waits: readonly Wait[];
  readonly spacings: WebhookSpacings;
  /** When the last of them started; null without one that says it. */
  readonly since: string | null;
}

/** The response of `/daemon.json`. */
export interface DaemonAnswer {
  readonly process: string;
  /** Absent in versions before 0.3. */
  readonly started_at?: string;
  readonly problems: readonly HealthReport[];
  /** Absent in versions before 0.3. */
  readonly waits?: readonly Wait[];
  /** Absent in versions before 0.2. */
  readonly spacings?: WebhookSpacings;
  /** The last lines of its log, when they were asked for. */
  readonly log?: readonly string[];
}

/** Longer than a healthy daemon blocks its event loop, as it does while it publishes a very large first listing. */
const answerMillisMax = 5_000;
/** Each of ten thousand sources can have a problem, of a few hundred bytes. */
const answerBytesMax = 32_000_000;

interface Where {
  readonly folder: string;
  readonly prefix: string;
}

/**
 * Returns where address files are: beside the SQLite file, or for a server beside the ledger, which every daemon can
 * write. Null for a server without a configuration, because only that names the ledger.
 */
function whereOf(location: DatabaseLocation, config: Pick<Config, 'forget'> | null): Where | null {
  const { file } = dialectFor(location);
  if (file !== null) return { folder: dirname(file), prefix: `${basename(file)}.daemon-` };
  return config === null ? null : { folder: dirname(config.forget.ledger), prefix: 'daemon-' };
}

/** Returns the address file of this process; null where there is none. */
export function addressFile(
  config: Pick<Config, 'database' | 'forget'>,
  { key }: Pick<DaemonAddress, 'key'>,
): string | null {
  const where = whereOf(config.database, config);
  return where === null ? null : join(where.folder, `${where.prefix}${process.pid}-${key.slice(0, 6)}.json`);
}

/** Writes the address file, and removes those of daemons that are gone. Throws when it cannot be written. */
export async function writeAddress(
  file: string,
  config: Pick<Config, 'database' | 'forget'>,
  { url, key }: Pick<DaemonAddress, 'url' | 'key'>,
): Promise<void> {
  const where = whereOf(config.database, config);
  if (where !== null) await removeStale(where);
  const address: DaemonAddress = {
    process: processName(),
    database: locationText(config.database),
    url,
    key,
  };
  await writePrivateFile(file, `${JSON.stringify(address)}\n`);
}

async function removeStale(where: Where): Promise<void> {
  for (const file of await filesOf(where)) {
    const address = await readAddress(file);
    if (typeof address === 'object' && isProcessGone(address.process)) await rm(file, { force: true });
  }
}

/**
 * Returns what the daemons on this host report about themselves. Never rejects: a running process that does not answer
 * is returned as a problem, and so are an unreadable address file and, when no other daemon runs, that of a killed one.
 * With a `source`, the spacing of that one is returned; without, those of the sources that wait longest.
 */
export async function askDaemons(
  location: DatabaseLocation,
  config: Config | null,
  clock: Clock,
  source?: string,
): Promise<DaemonAsked> {
  const where = whereOf(location, config);
  const files = where === null ? [] : await filesOf(where);
  const asked = await Promise.all(files.map((file) => askOne(file, locationText(location), clock, source)));
  const daemons = asked.flatMap((one) => one.daemons);
  return {
    daemons,
    // Another daemon has taken over from a killed one.
    problems: asked.flatMap(({ problems, isGone }) => (isGone && daemons.length > 0 ? [] : problems)),
    waits: asked.flatMap(({ waits }) => waits),
    spacings: Object.assign({}, ...asked.map(({ spacings }) => spacings)) as WebhookSpacings,
    since:
      asked
        .flatMap(({ since }) => since ?? [])
        .sort()
        .at(-1) ?? null,
  };
}

/** Returns the last log lines of each daemon on this host that answers, by process id. Never rejects. */
export async function askLogs(
  location: DatabaseLocation,
  config: Config | null,
  clock: Clock,
): Promise<readonly { readonly pid: number; readonly lines: readonly string[] }[]> {
  const where = whereOf(location, config);
  const logs = [];
  for (const file of where === null ? [] : await filesOf(where)) {
    const address = await readAddress(file);
    if (typeof address !== 'object' || address.database !== locationText(location)) continue;
    const answer = await ask(address, clock, '?log=1');
    if (answer !== null) logs.push({ pid: Number(address.process.split(':')[1]), lines: answer.log ?? [] });
  }
  return logs;
}

async function filesOf({ folder, prefix }: Where): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => name.startsWith(prefix) && name.endsWith('.json'))
    .sort()
    .map((name) => join(folder, name));
}

interface OneAsked extends DaemonAsked {
  /** Whether its problem is that the daemon ended without deleting its file. */
  readonly isGone?: boolean;
}

const unheard: OneAsked = { daemons: [], problems: [], waits: [], spacings: {}, since: null };

async function askOne(
  file: string,
  database: string,
  clock: Clock,
  source: string | undefined,
): Promise<OneAsked> {
  const address = await readAddress(file);
  const since = instantFromMillis(clock.now());
  if (address === 'gone') return unheard;
  if (address === 'unreadable')
    return {
      ...unheard,
      problems: [
        {
          key: 'daemon',
          severity: 'attention',
          text: `${file} cannot be read: whether its daemon is well is not known. Remove it if no daemon runs, or ask as its owner`,
          since,
        },
      ],
    };
  if (address.database !== database) return unheard;
  const pid = Number(address.process.split(':')[1]);
  if (isProcessGone(address.process))
    return {
      ...unheard,
      isGone: true,
      problems: [
        {
          key: 'daemon',
          severity: 'attention',
          text: `the daemon that ran here (process ${pid}) is gone: it was killed or crashed. Start it again: rosterd run. If none is to run here, remove ${file}`,
          since,
        },
      ],
    };
  const query = source === undefined ? '' : `?source=${encodeURIComponent(source)}`;
  const answer = await ask(address, clock, query);
  // The address of another container or another host is not valid here.
  if (answer === null && !isProcessThere(address.process)) return unheard;
  const seen = { pid, console_url: address.url };
  if (answer !== null)
    return {
      daemons: [{ ...seen, state: 'answers' }],
      problems: answer.problems,
      waits: answer.waits ?? [],
      spacings: answer.spacings ?? {},
      since: answer.started_at ?? null,
    };
  return {
    ...unheard,
    daemons: [{ ...seen, state: 'silent' }],
    problems: [
      {
        key: 'daemon',
        severity: 'attention',
        text: `the daemon (process ${pid}) lives and does not answer at ${address.url}: look at its log, or restart it`,
        since,
      },
    ],
  };
}

/** Returns null when nothing answers in time, or another process does. */
async function ask(
  { url, key, process }: DaemonAddress,
  clock: Clock,
  query = '',
): Promise<DaemonAnswer | null> {
  const over = new AbortController();
  const late = clock.wait(answerMillisMax, over.signal).then(() => null);
  const text = await Promise.race([textOf(new URL(`/daemon.json${query}`, url), key, over.signal), late]);
  over.abort();
  return text === null ? null : answerOf(text, process);
}

function textOf(url: URL, key: string, signal: AbortSignal): Promise<string | null> {
  // An import of this module would also load Node's own fetch, which takes longer than `rosterd status`.
  const { get } = process.getBuiltinModule('node:http');
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${key}` };
    const request = get(url, { headers, agent: false, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        if (text.length > answerBytesMax) request.destroy();
      });
      response.once('end', () => resolve(response.statusCode === 200 ? text : null));
      response.once('error', () => resolve(null));
    });
    request.once('error', () => resolve(null));
  });
}

function answerOf(text: string, process: string): DaemonAnswer | null {
  const answer = parsed(text) as Partial<DaemonAnswer> | null;
  return answer?.process === process && Array.isArray(answer.problems) ? (answer as DaemonAnswer) : null;
}

/** Returns `gone` for a file that a stopping daemon has deleted in the meantime. */
async function readAddress(file: string): Promise<DaemonAddress | 'gone' | 'unreadable'> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => error);
  if (typeof text !== 'string') return text.code === 'ENOENT' ? 'gone' : 'unreadable';
  const address = parsed(text) as Partial<DaemonAddress> | null;
  const { process, database, url, key } = address ?? {};
  const isWhole = [process, database, url].every((part) => typeof part === 'string');
  // What no daemon wrote cannot be requested.
  const isAddress = URL.parse(url ?? '')?.protocol === 'http:' && /^\w+$/.test(key ?? '');
  return isWhole && isAddress ? (address as DaemonAddress) : 'unreadable';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
