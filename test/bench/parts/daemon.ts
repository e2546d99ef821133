import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Secret } from '../../../src/config/secrets.js';
import { startDaemon } from '../../../src/daemon/daemon.js';
import { maintenanceOf } from '../../../src/daemon/maintenance.js';
import { publishApart } from '../../../src/reading/publish-apart.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { systemRandom } from '../../../src/runtime/random.js';
import { backUpApart } from '../../../src/store/back-up-apart.js';
import { secret } from '../deliveries.js';
import { sharedNow } from '../shared-time.js';
import { mirrorConfig, mirrorFile, sourceNameOf } from './mirror-config.js';

export interface DaemonOptions {
  readonly folder: string;
  readonly feedUrl: string;
  readonly companies: readonly string[];
  readonly requestsPerHour: number | null;
  /** Whether it serves the console and notes its long turns, which costs a timer a millisecond. */
  readonly watched: boolean;
  /** Whether to wait for the first listings. */
  readonly untilIdle: boolean;
}

/** Reads one row by its source and id, to see from another connection what is committed. */
export const mirrorRowSql = 'SELECT committed_cents FROM investments WHERE source = ? AND id = ?';

/** The resolution of the event loop monitor in milliseconds. */
const resolution = 1;

/** Turns below this many milliseconds are not noted. */
export const turnMillisMin = 2;

/** A long turn of the event loop. */
export interface Turn {
  /** On the clock of `sharedNow`. */
  readonly endedAt: number;
  readonly millis: number;
  /** How many of them its thread was on a processor. It waited for the disk, or for a processor, in the others. */
  readonly processorMillis: number;
}

/** The real daemon as `rosterd run` starts it. Webhooks alone cause ticks: the timer is an hour. */
export async function startDaemonPart(options: DaemonOptions) {
  const { folder, watched, untilIdle } = options;
  const base = mirrorConfig(options, {
    sync: { intervalSeconds: 3_600, idleIntervalSeconds: 3_600 },
    console: watched ? { listen: '127.0.0.1:0' } : null,
    receiver: { listen: '127.0.0.1:0', secrets: [{ env: 'UNUSED' }] },
  });
  if (base.receiver === null) throw new Error('the benchmark needs a receiver');
  const secrets = [new Secret('bench', secret, { env: {}, folder })];
  const config = { ...base, receiver: { ...base.receiver, secrets } };
  let passed = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passed };
  const daemon = await startDaemon({ config, clock, random: systemRandom, logger: silentLogger });
  const { engine } = daemon;
  if (untilIdle) await engine.sync.idle();
  // The monitor knows how long the longest turn was, but not when; and the first interval after a reset counts nowhere.
  const delay = monitorEventLoopDelay({ resolution });
  if (watched) delay.enable();
  const turns: Turn[] = [];
  let before = sharedNow();
  let processorBefore = onProcessor();
  const note = () => {
    const endedAt = sharedNow();
    const millis = endedAt - before;
    const processorNow = onProcessor();
    if (millis >= turnMillisMin)
      turns.push({ endedAt, millis, processorMillis: processorNow - processorBefore });
    before = endedAt;
    processorBefore = processorNow;
  };
  const watching = watched ? setInterval(note, resolution) : undefined;
  return {
    receiverUrl: async () => daemon.receiverUrl ?? '',
    consoleUrl: async () => daemon.consoleUrl ?? '',
    file: async () => join(folder, mirrorFile),
    /** Runs one tick. Returns its milliseconds. */
    tick: async (source: number, resync = false): Promise<number> => {
      const began = sharedNow();
      const { report } = await engine.sync.tick(sourceNameOf(source), { resync });
      if (report.outcome !== 'done')
        throw new Error(`the tick ended ${report.outcome}: ${report.message ?? ''}`);
      return sharedNow() - began;
    },
    /** Resolves after the next tick of this source that is done: one that lists gives way to others now and then. */
    ticked: async (source: number): Promise<void> => {
      await new Promise<void>((resolve) => {
        const remove = engine.sync.onTick((name, { report }) => {
          if (name !== sourceNameOf(source) || report.outcome !== 'done') return;
          remove();
          resolve();
        });
      });
    },
    /** Moves the monotonic clock ahead, as if nothing had happened for so long. */
    pass: async (millis: number): Promise<void> => {
      passed += millis;
    },
    /** Rewrites the file as housekeeping does, until no erased bytes are left. */
    scrub: async (): Promise<void> => {
      const { scrub } = maintenanceOf(config, engine.mirror);
      const { signal } = new AbortController();
      for (let rewritten = 0; ; ) {
        const result = await scrub(rewritten, signal);
        if (result.kind === 'clean' || result.kind === 'scrubbed') return;
        if (result.kind === 'no_room') throw new Error('the disk has no room to rewrite the file');
        rewritten = result.rewritten;
        await pause(20);
      }
    },
    /** Writes a backup, as `rosterd backup` and the schedule do. */
    backUp: async (): Promise<void> => {
      const parts = { clock: systemClock, version: 'bench', env: process.env };
      const target = join(folder, 'backup.db');
      await backUpApart(config.database, target, { ...parts, signal: new AbortController().signal });
    },
    /** Writes all investments to a CSV file, as the schedule does. */
    export: async (): Promise<void> => {
      const ask = {
        folder: join(folder, 'exports'),
        format: 'csv',
        tables: ['investments'],
        identity: true,
      } as const;
      await publishApart(
        config.database,
        { kind: 'exports', ask },
        systemClock,
        new AbortController().signal,
      );
    },
    /** Returns the long turns of the event loop since the start, and the longest that the monitor counted. */
    turns: async (): Promise<{ readonly turns: readonly Turn[]; readonly longest: number }> => {
      // A turn that ends with this message appears in the next sample.
      await pause(5 * resolution);
      return { turns, longest: delay.max / 1e6 };
    },
    close: async (): Promise<void> => {
      clearInterval(watching);
      delay.disable();
      await daemon.close();
    },
  };
}

/** Node 22 counts all threads of the process. */
const usage = process.threadCpuUsage ?? process.cpuUsage;

function onProcessor(): number {
  const { user, system } = usage();
  return (user + system) / 1_000;
}
