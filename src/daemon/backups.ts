import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BackupConfig } from '../config/config.js';
import { isFault } from '../domain/fault.js';
import { instantFromMillis, millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthRegister } from '../runtime/health-register.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { type BackupNames, madeBy, scheduledBackups, scheduledName } from '../store/backup/file-names.js';
import type { BackupMade } from '../store/backup/made.js';

export interface BackupsParts {
  readonly settings: BackupConfig & { readonly everyMillis: number };
  readonly names: BackupNames;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly register: HealthRegister;
  /** Whether this daemon makes the backups: in a fleet, the leader does. */
  leads(): boolean;
  /** Whether the mirror has anything to back up: a first listing is complete. */
  isFilled(): Promise<boolean>;
  backUp(target: string, signal: AbortSignal): Promise<BackupMade>;
}

const lookMillis = 60_000;
/** A failed backup is retried with growing waits, up to this one. */
const retryMillisMin = 5 * 60_000;
const retryMillisMax = 60 * 60_000;

/**
 * Makes backups on a schedule and deletes the oldest ones. The newest file in the folder says when the next one is due, so
 * restarts change nothing; files dated in the future are ignored. A failure stays in the health register until a backup succeeds.
 */
export function startBackups(parts: BackupsParts): Closable {
  const { settings, names, clock, logger, register } = parts;
  const stopping = new AbortController();
  let failures = 0;
  let retryAt = Number.NEGATIVE_INFINITY;

  const untilDue = (): number => {
    const now = clock.now();
    const newest = madeBy(scheduledBackups(settings.folder, names), now)[0];
    return newest === undefined ? 0 : Math.max(0, settings.everyMillis - (now - millisOf(newest.made_at)));
  };

  const attempt = async () => {
    const now = clock.now();
    const { signal } = stopping;
    const made = await parts.backUp(join(settings.folder, scheduledName(names, now)), signal);
    failures = 0;
    register.clear('backup');
    logger.info({ file: made.file, count: made.rows }, 'the mirror was backed up');
    if (made.note !== null) logger.debug({ hint: made.note }, 'the backup has another format');
    const found = scheduledBackups(settings.folder, names);
    const real = madeBy(found, clock.now());
    for (const { file } of real.slice(settings.keep)) rmSync(file, { force: true });
    const [ahead] = found.filter((one) => !real.includes(one));
    if (ahead !== undefined)
      logger.warn(
        { file: ahead.file },
        'a backup is dated in the future and is never deleted automatically: rename or delete it',
      );
  };

  const look = async (): Promise<number> => {
    if (!parts.leads()) {
      register.clear('backup');
      return lookMillis;
    }
    const wait = Math.max(untilDue(), retryAt - clock.monotonic());
    if (wait > 0) return Math.min(wait, lookMillis);
    if (!(await parts.isFilled())) return lookMillis;
    await attempt();
    return lookMillis;
  };

  const failed = (error: unknown) => {
    if (stopping.signal.aborted) return;
    const why = isFault(error) ? error.message : 'the log has the cause';
    register.report('backup', {
      severity: 'attention',
      text: `the scheduled backup failed: ${why}`,
      since: instantFromMillis(clock.now()),
    });
    logger.warn({ error }, 'the scheduled backup failed and will be retried');
    retryAt = clock.monotonic() + Math.min(retryMillisMax, retryMillisMin * 2 ** Math.min(failures, 10));
    failures += 1;
  };

  const run = async () => {
    while (!stopping.signal.aborted) {
      let wait = lookMillis;
      try {
        wait = await look();
      } catch (error) {
        failed(error);
      }
      await clock.wait(wait, stopping.signal);
    }
  };
  const running = run();
  return {
    close: async () => {
      stopping.abort();
      await running;
    },
  };
}
