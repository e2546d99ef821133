import { release } from 'node:os';
import type { LoadedConfig } from '../config/document.js';
import { InvalidConfig, type Problem } from '../config/invalid-config.js';
import { redactedSettings } from '../config/redacted.js';
import { isFault } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import { askDaemons, askLogs } from '../reading/daemon-address.js';
import { runs } from '../reading/runs.js';
import { statusOf } from '../reading/status.js';
import { writtenFile } from '../runtime/file-behind.js';
import { packageVersion } from '../runtime/package-version.js';
import { writePrivateFile } from '../runtime/private-file.js';
import { requireReplaceable } from '../runtime/replaceable.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { refuseAnyMirror, refuseOwnFile } from '../store/own-file.js';
import { readMirror } from '../store/reads/read-mirror.js';
import { maskCredentials } from '../wire/credential-shapes.js';
import { versions } from '../wire/versions.js';
import { type Diagnosis, type DoctorParts, diagnose } from './doctor.js';

const ticksMax = 200;

export interface BundleParts extends DoctorParts {
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What one part of the bundle is, or why it is missing. */
type Section<Value> = Value | { readonly missing: string };

/**
 * Writes everything that helps to find a problem into one readable file of mode 0600: versions, configuration, doctor,
 * status, the last ticks, the last log lines of a running daemon, and the schema. It contains no identity and no secret.
 * Throws `usage` for the mirror's own files, and for a device or a pipe; `stopped` when `signal` fires.
 */
export async function writeSupportBundle(
  file: string,
  load: () => Promise<LoadedConfig>,
  parts: BundleParts,
  signal: AbortSignal,
): Promise<void> {
  const { clock, env, nodeVersion } = parts;
  requireReplaceable(file);
  const target = writtenFile(file);
  const loaded = await load().catch((error: unknown) => error);
  if (isLoaded(loaded)) refuseOwnFile(loaded.config.database, target);
  else refuseAnyMirror(target);
  const diagnosis: Diagnosis = await diagnose(load, parts, signal);
  const bundle = {
    about:
      'Made by rosterd support-bundle. Read it before you send it: it contains ids, times, counts and host names.',
    made_at: instantFromMillis(clock.now()),
    versions: {
      rosterd: packageVersion(),
      node: nodeVersion,
      system: `${process.platform} ${process.arch} ${release()}`,
      api: versions,
    },
    // The names alone: a value may be a secret.
    environment: Object.keys(env)
      .filter((name) => name.startsWith('ROSTERD_'))
      .sort(),
    configuration: isLoaded(loaded) ? redactedSettings(loaded) : problemsIn(loaded),
    doctor: diagnosis,
    ...(isLoaded(loaded) ? await ofMirror(loaded, parts) : {}),
  };
  await writePrivateFile(target, `${masked(JSON.stringify(bundle, null, 2), env)}\n`);
}

async function ofMirror({ config }: LoadedConfig, { clock }: BundleParts) {
  const { database } = config;
  return {
    status: await section(async () =>
      statusOf(database, clock, config, await askDaemons(database, config, clock)),
    ),
    ticks: await section(() => runs(database, { max: ticksMax })),
    log: await section(async () => {
      const logs = await askLogs(database, config, clock);
      return logs.length > 0 ? logs : { missing: 'no daemon with a console runs on this machine' };
    }),
    schema: await section(async () => ({
      database: dialectFor(database).shared ? 'PostgreSQL' : 'SQLite',
      migrations: await readMirror(database, (db) =>
        db.selectFrom('migrations').selectAll().orderBy('number').execute(),
      ),
    })),
  };
}

async function section<Value>(work: () => Promise<Value>): Promise<Section<Value>> {
  try {
    return await work();
  } catch (error) {
    if (!isFault(error)) throw error;
    return { missing: error.message };
  }
}

const isLoaded = (value: unknown): value is LoadedConfig =>
  typeof value === 'object' && value !== null && 'originOf' in value;

function problemsIn(error: unknown): Section<readonly Problem[]> {
  if (error instanceof InvalidConfig) return error.problems;
  if (isFault(error)) return { missing: error.message };
  throw error;
}

/** The home folder often contains the name of a person. */
function masked(text: string, { HOME = '' }: BundleParts['env']): string {
  const whole = HOME.length > 1 ? text.replaceAll(JSON.stringify(HOME).slice(1, -1), '~') : text;
  return maskCredentials(whole);
}
