import type { Config } from '../config/config.js';
import { isFault } from '../domain/fault.js';
import { instantFromMillis, millisOf } from '../domain/instant.js';
import { abandonedExports, mirrorName, publishedExports } from '../reading/exports-folder.js';
import { forgetMarkOf } from '../reading/forget-mark.js';
import { lakeHasPeople, lakeSyncedAt } from '../reading/lake.js';
import { publishApart } from '../reading/publish-apart.js';
import {
  type Discarded,
  discardExports,
  finishDeletions,
  pruneExports,
  removeOutdatedExports,
  removeUnfinishedExports,
} from '../reading/remove-exports.js';
import type { Closable } from '../runtime/lifecycle.js';
import { madeAhead, madeBy } from '../store/backup/file-names.js';
import { type FileScheduleParts, startFileSchedule } from './file-schedule.js';
import { type FormerLeader, outlived, twiceAsLong } from './former-leader.js';

export interface PublicationsParts
  extends FormerLeader,
    Pick<FileScheduleParts, 'clock' | 'logger' | 'register' | 'leads' | 'isFilled'> {
  readonly config: Pick<Config, 'database' | 'exports' | 'lake'>;
}

/** An export that nothing was written to for this long is that of a killed process. */
const abandonedMillis = 86_400_000;

/** Writes exports on a schedule and deletes the oldest ones; null when the configuration has no schedule. */
export function startExports({ config, ...parts }: PublicationsParts): Closable | null {
  const { database, exports } = config;
  const { everyMillis, keep, folder, format, tables, identity } = exports;
  if (everyMillis === null) return null;
  const { clock, logger } = parts;
  const mirror = mirrorName(database);
  /** Whether the leader may not yet have deleted all that are too old. One that ran before may have failed to. */
  let isPruneDue = true;
  /** Whether it has made one and not yet deleted the unfinished ones of killed processes. */
  let isSweepDue = false;
  const report = ({ removed, fault }: Discarded, message: string) => {
    for (const file of removed) logger.info({ file }, message);
    if (fault !== null) throw fault;
  };
  return startFileSchedule({
    ...parts,
    // In a fleet, a forget request of another host did not see this folder, and a former leader leaves exports in it.
    tend: [
      () => finishDeletions(folder, mirror),
      async () =>
        report(
          await removeOutdatedExports(database, folder),
          'deleted an export with names that was made before a forget request',
        ),
      async () => {
        if (parts.leads() && !isPruneDue) return;
        await pruneExports(folder, mirror, keep, clock.now());
        isPruneDue = false;
      },
      async () => {
        // Only the leader writes exports, and it writes none now: an unfinished one is that of a killed process.
        if (!parts.leads() || !isSweepDue) return;
        await removeUnfinishedExports(folder, mirror);
        isSweepDue = false;
      },
      // The next export does the same: here that may be in days, or never where another daemon leads.
      async () => {
        const left = (now: number) => abandonedExports(folder, mirror, now - abandonedMillis);
        if (left(clock.now()).length === 0 || (!parts.leads() && !parts.isLed())) return;
        // In a folder that hosts share, a clock that is ahead must not delete what the leader is writing.
        const now = parts.leads() ? clock.now() : Math.min(clock.now(), await parts.otherNow());
        report(await discardExports(left(now), mirror), 'deleted what a killed process left of an export');
      },
      // People whom the platform deleted since are in the files until these are deleted.
      async () => {
        const named = () => publishedExports(folder, mirror).exports.filter((one) => one.identity);
        const old = await outlived(parts, named, twiceAsLong({ everyMillis, keep }));
        const folders = old.map((one) => one.folder);
        report(
          await discardExports(folders, mirror),
          'deleted an export with names that this daemon made when it led',
        );
      },
    ],
    key: 'export',
    name: 'export',
    everyMillis,
    newestAt: () => {
      const newest = madeBy(publishedExports(folder, mirror).exports, clock.now())[0];
      return newest === undefined ? null : millisOf(newest.made_at);
    },
    make: async (signal) => {
      const ask = { folder, format, tables, identity };
      const published = await publishApart(database, { kind: 'exports', ask }, clock, signal);
      isPruneDue = true;
      isSweepDue = true;
      if (published.kind === 'exports')
        logger.info({ file: published.made.folder, count: published.made.rows }, 'the mirror was exported');
      const {
        damaged: [damaged],
        exports,
      } = publishedExports(folder, mirror);
      const [ahead] = madeAhead(exports, clock.now());
      if (ahead !== undefined)
        logger.warn(
          { file: ahead.folder },
          'an export is dated in the future and is never deleted automatically: rename or delete it',
        );
      if (damaged !== undefined)
        logger.warn(
          { file: damaged },
          'a folder named like an export has a manifest that cannot be read, and is never deleted automatically: look at it and delete it',
        );
    },
  });
}

/** Keeps a lake up to date; null when the configuration has no schedule. */
export function startLake({ config, ...parts }: PublicationsParts): Closable | null {
  const { database, lake } = config;
  const { everyMillis, keep, folder, identity } = lake;
  if (everyMillis === null) return null;
  const { clock, logger } = parts;
  const make = async (signal: AbortSignal) => {
    const ask = { folder, keep, identity, compact: false };
    const published = await publishApart(database, { kind: 'lake', ask }, clock, signal);
    if (published.kind !== 'lake') return;
    const { changed, inexact } = published.made;
    logger.info({ file: folder, count: changed }, 'the lake was brought up to date');
    if (inexact > 0)
      logger.warn(
        { file: folder, count: inexact },
        'shares or prices have more digits than the lake can hold and were rounded or left out',
      );
  };
  let markWritten: string | null = null;
  const isOutlived = async () => {
    const synced = () => {
      const at = lakeSyncedAt(folder);
      return at === null ? [] : [{ made_at: instantFromMillis(at) }];
    };
    return (await outlived(parts, synced, twiceAsLong({ everyMillis, keep: 1 }))).length > 0;
  };
  return startFileSchedule({
    ...parts,
    // `forget` rewrites a lake of its own host, unless it is killed. In a fleet, a forget request of another host did not see
    // this lake, and a former leader's has people whom the platform deleted since.
    tend: [
      async (signal) => {
        if (!lakeHasPeople(folder) || !(await parts.isFilled())) return;
        const mark = await forgetMarkOf(database);
        if (mark === markWritten && !(await isOutlived())) return;
        try {
          await make(signal);
          markWritten = mark;
        } catch (error) {
          // `forget` on this host may be rewriting it: look again in a minute.
          if (!isFault(error, 'database_busy')) throw error;
        }
      },
    ],
    key: 'lake',
    name: 'sync of the lake',
    everyMillis,
    newestAt: () => lakeSyncedAt(folder),
    make,
  });
}
