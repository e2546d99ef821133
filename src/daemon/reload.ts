import { isDeepStrictEqual } from 'node:util';
import type { LoadedConfig } from '../config/document.js';
import { fixedSettingsChanged } from '../config/fixed-settings.js';
import { InvalidConfig } from '../config/invalid-config.js';
import { secretFaults, secretsOfStart } from '../config/unreadable-secrets.js';
import { Fault, isFault } from '../domain/fault.js';
import { authorityOf } from './connect-platform.js';
import { signInFaults } from './console-sign-in.js';
import { type Daemon, startDaemon } from './daemon.js';
import type { EngineParts } from './engine.js';

/*
 * A reload applies the whole configuration file or nothing of it. What can be judged beforehand is judged while the
 * daemon works on: the file, its secrets, whether it changes a setting that only a restart changes, whether the server
 * with the mirror is there, and whether what a start reads can be read. A file without changes rereads secrets in place. A
 * file with changes replaces the daemon: the old one finishes its pages and closes, the new one opens the same database and
 * listens at the same addresses. If the new one cannot start, the old configuration starts again.
 */

/** A daemon and what it was built from. */
export interface Running {
  readonly loaded: LoadedConfig;
  readonly parts: EngineParts;
  readonly daemon: Daemon;
}

export interface ReloadParts {
  /** Reads the configuration as at the start: the same file, environment and flags. Throws `Fault`. */
  readonly load: () => Promise<LoadedConfig>;
  readonly partsOf: (loaded: LoadedConfig) => Promise<EngineParts>;
  /** Replaced in tests. */
  readonly start?: typeof startDaemon;
}

export type ReloadOutcome = 'applied' | 'secrets' | 'refused' | 'failed';

export interface Reloaded {
  readonly outcome: ReloadOutcome;
  /** What runs now: never nothing, and the old one unless the outcome is `applied`. */
  readonly running: Running;
}

/** Reloads. Throws only when the new configuration did not start and the old one did not start again either. */
export async function reload(running: Running, parts: ReloadParts): Promise<Reloaded> {
  const logger = running.parts.logger.child({ component: 'reload' });
  const refused: Reloaded = { outcome: 'refused', running };

  const loaded = await parts.load().catch((error: unknown) => {
    for (const fields of problemsOf(error)) logger.error(fields, 'the configuration is not valid');
    return null;
  });
  const faults = loaded === null ? [] : await faultsIn(loaded);
  for (const error of faults) logger.error({ error }, 'a secret cannot be used');
  if (loaded === null || faults.length > 0) {
    logger.error({}, 'nothing was reloaded; the daemon keeps its configuration');
    return refused;
  }

  const fixed = fixedSettingsChanged(running.loaded.settings, loaded.settings);
  if (fixed.length > 0) {
    for (const path of fixed) logger.error({ path }, 'a change of this setting needs a restart');
    logger.error({}, 'nothing was reloaded; the daemon keeps its configuration');
    return refused;
  }

  if (isDeepStrictEqual(running.loaded.settings, loaded.settings)) {
    await running.daemon.rereadSecrets();
    logger.info({}, 'the configuration has no changes; secrets in files and commands were read again');
    return { outcome: 'secrets', running };
  }

  const away = await awayFault(running);
  if (away !== null) {
    logger.error(
      { error: away },
      'the database is away, so a daemon with the new configuration could not start',
    );
    logger.error({}, 'nothing was reloaded; the daemon keeps its configuration');
    return refused;
  }

  const prevented = await startFaults(loaded);
  if (prevented.length > 0) {
    for (const error of prevented) logger.error({ error }, 'no daemon could start at the moment');
    logger.error({}, 'nothing was reloaded; the daemon keeps its configuration');
    return refused;
  }
  return await replace(running, loaded, parts);
}

/**
 * Returns why the server with the mirror cannot be reached, or null. A running daemon waits for a server that is away, but
 * none starts meanwhile, neither with the new nor with the old configuration.
 */
async function awayFault({ daemon }: Running): Promise<unknown> {
  const { server } = daemon.engine.mirror;
  try {
    await server?.ask();
    return null;
  } catch (error) {
    // Such as a refused password, which the new configuration may have.
    return server?.isAway(error) === true ? error : null;
  }
}

async function replace(running: Running, loaded: LoadedConfig, parts: ReloadParts): Promise<Reloaded> {
  const start = parts.start ?? startDaemon;
  const logger = running.parts.logger.child({ component: 'reload' });
  const next = await parts.partsOf(loaded);
  logger.info({}, 'the configuration has changes; the daemon restarts with them');
  await running.daemon.close();
  try {
    const daemon = await start(next);
    next.logger.info({ component: 'reload' }, 'the configuration was reloaded');
    return { outcome: 'applied', running: { loaded, parts: next, daemon } };
  } catch (error) {
    logger.error(
      { error },
      'the daemon does not start with the new configuration; it opens with the old one',
    );
    return { outcome: 'failed', running: { ...running, daemon: await start(running.parts) } };
  }
}

/** What keeps the daemon from using the secrets of a configuration. */
async function faultsIn({ config }: LoadedConfig): Promise<readonly Fault[]> {
  const faults = await secretFaults(config);
  if (faults.length > 0 || config.console === null || config.console.auth === null) return faults;
  return await signInFaults(config.console.auth, { runCommands: true });
}

/**
 * What keeps a daemon from its start although `faultsIn` found nothing: a command that prints a secret and fails, because
 * its secret store is away, or a missing file of a certificate authority. The running daemon has read them; neither the
 * new configuration nor the old one would start.
 */
async function startFaults({ config }: LoadedConfig): Promise<readonly Fault[]> {
  const { caFile } = config.platform;
  const printed = secretsOfStart(config).filter(({ runsCommand }) => runsCommand);
  const needs = [
    ...(caFile === null ? [] : [async () => authorityOf(caFile)]),
    ...printed.map((secret) => () => secret.reveal()),
  ];
  const faults: Fault[] = [];
  for (const need of needs)
    try {
      await need();
    } catch (error) {
      if (!isFault(error)) throw error;
      faults.push(error);
    }
  return faults;
}

/** One line of the log for each thing that is wrong with the file. */
function problemsOf(error: unknown): readonly { path?: string; hint?: string; error?: unknown }[] {
  if (!(error instanceof InvalidConfig)) {
    if (error instanceof Fault) return [{ error }];
    throw error;
  }
  return error.problems.map(({ path, where, message, hint }) => ({
    path,
    hint: [`${where}: ${message}`, ...(hint === undefined ? [] : [hint])].join('; '),
  }));
}
