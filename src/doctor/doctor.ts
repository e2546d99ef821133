import type { Config } from '../config/config.js';
import type { LoadedConfig } from '../config/document.js';
import { openSession, type PlatformSession } from '../daemon/platform-session.js';
import { Fault, isFault } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import { askDaemons } from '../reading/daemon-address.js';
import { type OpenVault, openVault } from '../reading/open-vault.js';
import { statusOf } from '../reading/status.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import { Budgets } from '../store/budgets.js';
import { connectionTo } from '../store/connection.js';
import { namelessSources } from '../store/reads/nameless-sources.js';
import { openReader, type Reader } from '../store/reads/open-reader.js';
import { type Check, failedBy, pass } from './check.js';
import { credentialsCheck, secretsCheck, vaultCheck } from './config-checks.js';
import { consoleCheck } from './console-check.js';
import { daemonChecks } from './daemon-checks.js';
import { databaseChecks } from './database-checks.js';
import { followCheck } from './follow-check.js';
import { nodeCheck } from './machine-checks.js';
import { mirrorChecks } from './mirror-checks.js';
import { platformChecks } from './platform-checks.js';
import { lockMillisMax, postgresChecks } from './postgres-checks.js';
import { endpointChecks, portCheck } from './receiver-checks.js';
import { sourceChecks } from './source-checks.js';

export type { Check, Verdict } from './check.js';

export interface DoctorParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly nodeVersion: string;
}

export interface Diagnosis {
  readonly at: Instant;
  readonly healthy: boolean;
  readonly checks: readonly Check[];
}

/**
 * Runs every check, from this machine outwards. Changes nothing, whether a daemon is running or not. Throws `stopped` when
 * `signal` fires: a check that was interrupted would look like a damaged file or an unreachable platform.
 */
export async function diagnose(
  load: () => Promise<LoadedConfig>,
  parts: DoctorParts,
  signal: AbortSignal,
): Promise<Diagnosis> {
  const checks: Check[] = [nodeCheck(parts.nodeVersion)];
  const loaded = await load().catch((error: unknown) => failedBy('config', error, 'rosterd config validate'));
  if ('verdict' in loaded) checks.push(loaded);
  else checks.push(...(await configured(loaded, parts, signal)));
  if (signal.aborted) throw new Fault('stopped', 'the checks were stopped before their end');
  return {
    at: instantFromMillis(parts.clock.now()),
    healthy: checks.every(({ verdict }) => verdict !== 'fail'),
    checks,
  };
}

/** The file of `platform.ca` or a variable of a proxy may be wrong. */
function sessionOf(open: () => PlatformSession): PlatformSession | Check {
  try {
    return open();
  } catch (error) {
    return failedBy('config', error, 'rosterd config show');
  }
}

async function configured(
  loaded: LoadedConfig,
  parts: DoctorParts,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const vault = openVault(loaded.config, parts);
  try {
    return await withVault(loaded, { ...parts, vault }, signal);
  } finally {
    await vault.close();
  }
}

async function withVault(
  { config, file }: LoadedConfig,
  parts: DoctorParts & { readonly vault: OpenVault },
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const { clock, vault } = parts;
  const checks: Check[] = [pass('config', `${file ?? 'the environment'} is valid`)];
  checks.push(await secretsCheck(config), await credentialsCheck(config, vault, clock));
  checks.push(await vaultCheck(vault));
  const database = await checksOf(config.database, clock, signal);
  checks.push(...database.checks);
  const session = sessionOf(() => openSession({ config, ...parts }));
  if ('verdict' in session) return [session, ...checks.filter(({ name }) => name !== session.name)];
  let reader: Reader | null = null;
  try {
    if (database.usable) {
      const opened = await openReader(config.database, { lockMillis: lockMillisMax }).catch(
        (error: unknown) => failedBy('database.reading', error, 'rosterd doctor'),
      );
      if ('verdict' in opened) checks.push(opened);
      else reader = opened;
    }
    checks.push(...(await withSession(config, { ...parts, session, reader }, signal)));
    return checks;
  } finally {
    await reader?.close();
    await session.close();
  }
}

async function withSession(
  config: Config,
  {
    clock,
    session,
    reader,
  }: DoctorParts & { readonly session: PlatformSession; readonly reader: Reader | null },
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const checks: Check[] = [];
  const network = await platformChecks(config, session, signal);
  // A platform whose clock differs can still be reached.
  const reachable = network.every(({ name, verdict }) => verdict !== 'fail' || name === 'platform.clock');
  checks.push(...network);
  const asked = await askDaemons(config.database, config, clock);
  let isLocked = false;
  const unread = (error: unknown): null => {
    if (!isFault(error)) throw error;
    // The database checks report any other fault already.
    if (error.about.locked === true) checks.push(failedBy('database.locks', error, 'rosterd doctor'));
    isLocked ||= error.about.locked === true;
    return null;
  };
  const status =
    reader === null ? null : await statusOf(config.database, clock, config, asked, all).catch(unread);
  const nameless =
    reader === null || isLocked
      ? null
      : await namelessSources(reader.db).catch(async (error: unknown) => unread(await reader.faultOf(error)));
  const budgets = reader === null || isLocked ? null : new Budgets(connectionTo(reader.db, reader.faultOf));
  const tools = {
    config,
    session,
    signal,
    nameless: (name: string) => nameless?.has(name) === true,
    budgetOf: budgets === null ? null : (key: string) => budgets.load(key),
  };
  for (const source of config.sources) checks.push(...(await sourceChecks(source, reachable, tools)));
  for (const rule of config.follows) checks.push(await followCheck(rule, reachable, session, signal));
  checks.push(...daemonChecks(asked));
  checks.push(...mirrorChecks(status, config.sources));
  // A daemon without a console leaves no trace by which to know it.
  const isElsewhere = config.console !== null && asked.daemons.length === 0 && asked.problems.length === 0;
  for (const option of ['receiver', 'console'] as const)
    checks.push(await portCheck(`${option}.port`, option, config[option]?.listen ?? null, isElsewhere));
  checks.push(await consoleCheck(config));
  checks.push(...(await endpointChecks(config, session, reachable, clock.now(), signal)));
  return checks;
}

/** A check of each source needs each source. */
const all = { sourcesMax: Number.POSITIVE_INFINITY, ticksMax: 0 } as const;

const checksOf = (database: Config['database'], clock: Clock, signal: AbortSignal) =>
  database.kind === 'sqlite' ? databaseChecks(database.file, clock, signal) : postgresChecks(database, clock);
