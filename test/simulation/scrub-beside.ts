import { closeSync, openSync } from 'node:fs';
import { Fault, isFault } from '../../src/domain/fault.js';
import { openSqlite, type SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import { pendingErasures, scrub, scrubInPlace } from '../../src/store/dialect/sqlite/scrub.js';
import type { Scrubbed } from '../../src/store/erasures.js';
import type { Scrubber, ScrubRequest } from '../../src/store/scrub-messages.js';
import type { Chance } from './chance.js';
import type { Counters } from './counters.js';
import type { Life } from './machine.js';

/**
 * The scrub process as its parent sees it: it takes a while to start, scrubs the file over its own connections, in place
 * or with VACUUM, and its answer takes a while to arrive. If it is stopped before it starts, it does nothing. `onRewriting` is
 * called when a rewriting begins, during which the daemon writes nothing, and returns what is called at its end.
 */
export function scrubBeside(
  life: Life,
  chance: Chance,
  counters: Counters,
  onScrubbed: (file: string) => void,
  onRewriting: () => () => void,
): Scrubber {
  return async (request, signal) => {
    const pause = async (millis: number) => {
      await life.clock.wait(millis, signal);
      if (signal.aborted) throw new Fault('stopped', 'the scrub was stopped before its end');
    };
    const ended = request.way === 'rewrite' ? onRewriting() : () => {};
    try {
      await pause(chance.skewed(20, 2_000));
      const scrubbed = await scrubIt(request);
      counters.add(`scrub:${request.way}:${scrubbed?.kind ?? 'unsuited'}`);
      if (scrubbed !== null) counters.add(`scrub:${scrubbed.kind}`);
      await pause(chance.skewed(5, 20_000));
      return scrubbed;
    } catch (error) {
      if (isFault(error)) counters.add(`scrub:${error.code}`);
      throw error;
    } finally {
      ended();
    }
  };

  async function scrubIt({ file, rewritten, way }: ScrubRequest): Promise<Scrubbed | null> {
    // Some files can only be rewritten.
    if (way === 'in place' && chance.yes(0.3)) return null;
    const database = openSqlite(file);
    try {
      if (way === 'rewrite' && life.pagesMax !== null && chance.yes(0.5)) {
        if (chance.yes(0.5)) throw new Fault('database_full', 'there is no room for the copy');
        return { kind: 'no_room' as const, erasures: pendingErasures(database), bytesMissing: 4_096 };
      }
      const scrubbed =
        way === 'rewrite'
          ? scrub(database, life.clock, { rewritten })
          : await inPlace(database, file, rewritten);
      if (scrubbed?.kind === 'scrubbed') onScrubbed(file);
      return scrubbed;
    } finally {
      if (!life.dead) database.close();
    }
  }

  async function inPlace(
    database: SqliteDatabase,
    file: string,
    rewritten: number,
  ): Promise<Scrubbed | null> {
    const second = openSqlite(file);
    const descriptor = openSync(file, 'r+');
    try {
      const parts = { rewritten, descriptor, second: second.raw, patience: () => async () => false };
      return await scrubInPlace(database, life.clock, parts);
    } finally {
      // All connections are in this process, so SQLite knows of their locks without those that this drops.
      closeSync(descriptor);
      if (!life.dead) second.close();
    }
  }
}
