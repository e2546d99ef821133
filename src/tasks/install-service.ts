import { execFile } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Fault } from '../domain/fault.js';
import { shellWord } from '../domain/shell-word.js';
import { makeFolders } from '../runtime/file-owner.js';
import { packageRoot } from '../runtime/package-root.js';
import type { ProxyVariables } from '../runtime/proxy.js';

export interface ServiceRequest {
  /** The folder that the paths are below: `/`, or the root of an image. */
  readonly root: string;
  /** The configuration file that the service reads. */
  readonly config: string;
  /** Node and the script, as systemd starts them. */
  readonly command: readonly string[];
  readonly dryRun: boolean;
  /** Replaces files that differ. */
  readonly force: boolean;
  /** The environment of the person who installs, which the service does not have. */
  readonly env: ProxyVariables;
}

export interface ServiceStep {
  /** `unchanged`: the file is there already. */
  readonly kind: 'write' | 'unchanged' | 'run';
  /** The file, or the command line. */
  readonly what: string;
}

export interface ServicePlan {
  readonly steps: readonly ServiceStep[];
  readonly unit: string;
  /** Why the service may not start as installed. */
  readonly warnings: readonly string[];
}

const unitFile = '/etc/systemd/system/rosterd.service';
const userFile = '/etc/sysusers.d/rosterd.conf';
/** What a folder contains that only rosterd uses. */
const ownFiles: ReadonlySet<string> = new Set(['secrets', 'secrets.env']);
/** systemd hides these folders from the service. */
const hidden = /^\/(?:home|root|run\/user|tmp|var\/tmp)(?:\/|$)/;

/** What the installation does to the machine itself. Tests replace it. */
export interface ServiceMachine {
  /** Throws `usage` when no service can be installed here. */
  check(): void;
  run(words: readonly string[]): Promise<void>;
}

const thisMachine: ServiceMachine = { check: refuseHere, run };

/**
 * Installs the systemd unit of the package, with the paths of this installation, its user, and the folders of the
 * configuration and the secrets. Folders that exist stay as they are. Starts nothing. Throws `usage` without root rights
 * or systemd, for a configuration in a folder that other programs use, and for an existing file that differs, unless
 * `force`.
 */
export async function installService(
  request: ServiceRequest,
  machine: ServiceMachine = thisMachine,
): Promise<ServicePlan> {
  const { root, config, command, dryRun, force, env } = request;
  const below = (path: string) => join(root, path);
  const folder = dirname(config);
  refuseShared(below(folder), config);
  const folders = [folder, join(folder, 'secrets')];
  const missing = folders.filter((path) => !existsSync(below(path)));
  const unit = unitOf(command, config);
  const files = [
    { path: unitFile, text: unit },
    { path: userFile, text: packaged('rosterd.sysusers.conf') },
  ];
  // Of an image only the files are written: its systemd is not running.
  const commands =
    root === '/'
      ? [
          ['systemd-sysusers', userFile],
          // Only folders that do not exist: this changes owner and mode of those that do.
          ...(missing.length === 0 ? [] : [['install', '-d', '-m', '750', '-g', 'rosterd', ...missing]]),
          ['systemctl', 'daemon-reload'],
        ]
      : [];
  const plan: ServicePlan = {
    unit,
    steps: [
      ...files.map(({ path, text }): ServiceStep => {
        const same = existsSync(below(path)) && !differs(below(path), text);
        return { kind: same ? 'unchanged' : 'write', what: below(path) };
      }),
      ...commands.map((words): ServiceStep => ({ kind: 'run', what: words.map(shellWord).join(' ') })),
    ],
    warnings: [
      ...command
        .filter((path) => hidden.test(path))
        .map(
          (path) =>
            `systemd hides ${path} from the service; install rosterd with: npm install --global rosterd`,
        ),
      ...(hidden.test(config)
        ? [`systemd hides ${config} from the service; put the configuration into /etc/rosterd`]
        : []),
      ...folders
        .filter((path) => isClosed(statsOf(below(path))))
        .map(
          (path) =>
            `${below(path)} exists and stays as it is, but the service cannot read it; to let it: chgrp rosterd ${shellWord(below(path))} && chmod 750 ${shellWord(below(path))}`,
        ),
      ...proxyWarning(env, below(join(folder, 'secrets.env'))),
    ],
  };
  if (dryRun) return plan;
  if (root === '/') machine.check();
  const [differing] = force ? [] : files.filter(({ path, text }) => differs(below(path), text));
  if (differing !== undefined)
    throw new Fault('usage', `${below(differing.path)} exists and differs`, {
      hint: 'compare it with: rosterd service install --dry-run; replace it with --force, and keep changes of your own in a drop-in: systemctl edit rosterd',
    });
  for (const { path, text } of files) write(below(path), text);
  for (const words of commands) await machine.run(words);
  return plan;
}

/**
 * Throws `usage` for the configuration in an existing folder that is not for rosterd alone, such as `/etc`. The service
 * reads `secrets.env` and `secrets/` beside its configuration. A folder counts as rosterd's own if its name says so or if
 * it has no other files.
 */
function refuseShared(folder: string, config: string): void {
  if (!existsSync(folder) || basename(folder).includes('rosterd')) return;
  const names = reading(folder, () => readdirSync(folder));
  const other = names.find((name) => name !== basename(config) && !ownFiles.has(name));
  if (other === undefined) return;
  throw new Fault('usage', `${folder} is not a folder of rosterd alone: it contains ${other}`, {
    hint: 'put the configuration into a folder of its own, such as /etc/rosterd, and name it with --config',
  });
}

/** Warns of a proxy that this shell has and the service will not. Shows no value, which may contain a password. */
function proxyWarning(env: ProxyVariables, file: string): readonly string[] {
  if ((env.https_proxy ?? env.HTTPS_PROXY ?? '') === '' || /^https_proxy=/im.test(textOf(file))) return [];
  return [
    `HTTPS_PROXY and NO_PROXY of this shell are not in the environment of the service; if it needs the proxy, write both into ${file}, one NAME=VALUE a line`,
  ];
}

/** Returns an empty text for what is not there, or where this user may not look. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Returns undefined for what is not there, or where this user may not look. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Whether a folder belongs to root, and to no group that the service could be in. */
const isClosed = (folder: Stats | undefined): boolean =>
  folder !== undefined && folder.uid === 0 && folder.gid === 0 && (folder.mode & 0o005) !== 0o005;

/** The packaged unit with the command and the configuration of this installation. */
function unitOf(command: readonly string[], config: string): string {
  const start = `ExecStart=${[...command, 'run', '--config', config].map(quoted).join(' ')}`;
  const text = packaged('rosterd.service').replace(/^ExecStart=.*$/m, () => start);
  const folder = `${dirname(config)}/`;
  return folder === '/etc/rosterd/'
    ? text
    : text.replace('=-/etc/rosterd/', () => `=-${folder.replaceAll('%', '%%')}`);
}

/** systemd splits at spaces and expands `%` and `$`. */
const quoted = (word: string): string =>
  /^[\w./:@+-]+$/.test(word)
    ? word
    : `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`;

const packaged = (name: string): string =>
  readFileSync(join(packageRoot, 'packaging', 'systemd', name), 'utf8');

const differs = (path: string, text: string): boolean =>
  existsSync(path) && reading(path, () => readFileSync(path, 'utf8')) !== text;

function reading<Read>(path: string, read: () => Read): Read {
  try {
    return read();
  } catch (cause) {
    throw failed(path, 'read', cause);
  }
}

function failed(path: string, what: string, cause: unknown): Fault {
  const code = (cause as NodeJS.ErrnoException).code ?? 'unknown reason';
  return new Fault('usage', `${path} cannot be ${what} (${code})`, {
    hint: ['EACCES', 'EPERM'].includes(code) ? 'run it as root' : 'check that path and its file system',
    cause,
  });
}

function write(path: string, text: string): void {
  try {
    makeFolders(dirname(path), 0o777);
    writeFileSync(path, text);
    chmodSync(path, 0o644);
  } catch (cause) {
    throw failed(path, 'written', cause);
  }
}

function refuseHere(): void {
  if (!existsSync('/run/systemd/system'))
    throw new Fault('usage', 'systemd does not run on this machine', {
      hint: '--dry-run prints the unit, --root FOLDER writes it into an image',
    });
  if (process.getuid?.() !== 0)
    throw new Fault('usage', 'a service is installed by root', {
      hint: 'the same command with sudo; --dry-run shows what it would do',
    });
}

async function run([program = '', ...args]: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)(program, args);
  } catch (cause) {
    throw new Fault('usage', `${program} ${args.join(' ')} failed`, {
      hint: 'run that command by hand to see why, then rosterd service install --force',
      cause,
    });
  }
}
