import { Fault, isFault } from '../../src/domain/fault.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { pendingErasures, scrub } from '../../src/store/dialect/sqlite/scrub.js';
import type { Scrubber } from '../../src/store/scrub-messages.js';
import type { Chance } from './chance.js';
import type { Counters } from './counters.js';
import type { Life } from './machine.js';

/**
 * The scrub process as its parent sees it: it takes a while to start, rewrites the file over its own connection,
 * and its answer takes a while to arrive. If it is stopped before it starts, it does nothing.
 */
export function scrubBeside(
  life: Life,
  chance: Chance,
  counters: Counters,
  onScrubbed: (file: string) => void,
): Scrubber {
  return async (request, signal) => {
    const pause = async (millis: number) => {
      await life.clock.wait(millis, signal);
      if (signal.aborted) throw new Fault('stopped', 'the scrub was stopped before its end');
    };
    try {
      await pause(chance.skewed(20, 2_000));
      const scrubbed = rewrite(request.file, request.rewritten);
      counters.add(`scrub:${scrubbed.kind}`);
      await pause(chance.skewed(5, 20_000));
      return scrubbed;
    } catch (error) {
      if (isFault(error)) counters.add(`scrub:${error.code}`);
      throw error;
    }
  };

  function rewrite(file: string, rewritten: number) {
    const database = openSqlite(file);
    try {
      if (life.pagesMax !== null && chance.yes(0.5)) {
        if (chance.yes(0.5)) throw new Fault('database_full', 'there is no room for the copy');
        return { kind: 'no_room' as const, erasures: pendingErasures(database), bytesMissing: 4_096 };
      }
      const scrubbed = scrub(database, life.clock, { rewritten });
      if (scrubbed.kind === 'scrubbed') onScrubbed(file);
      return scrubbed;
    } finally {
      if (!life.dead) database.close();
    }
  }
}
