import { withErasuresApplied } from '../../src/daemon/open-mirror.js';
import { openSqliteMirror } from '../../src/daemon/open-sqlite-mirror.js';
import type { Counters } from './counters.js';
import type { DatabaseWatch } from './database-watch.js';
import type { DatabaseLocation } from './machine.js';
import { scrubBeside } from './scrub-beside.js';
import { strayWord } from './stray-word.js';

/** A file on the disk of the machine, scrubbed by a child process of the daemon. */
export function sqlitePlace(
  watch: DatabaseWatch,
  counters: Counters,
  violate: (invariant: string, what: string) => void,
  onRewriting: () => () => void,
): DatabaseLocation {
  return {
    database: 'sqlite:mirror.db',
    own: (life) => void watch.own(life.folder, life),
    disown: ({ folder }) => watch.disown(folder),
    openerFor: (life, chance) => {
      const onScrubbed = (file: string) => {
        const left = strayWord(file);
        if (left !== null) violate('I10', left);
      };
      const scrub = scrubBeside(life, chance.fork(`scrub ${life.no}`), counters, onScrubbed, onRewriting);
      // Like `openMirror` with the driver already loaded: loading takes time that virtual clocks do not show.
      return (database, parts) => {
        if (database.kind !== 'sqlite') throw new Error('this machine stores its mirror in a file');
        return withErasuresApplied(openSqliteMirror(database, { ...parts, scrub }), { ...parts, scrub });
      };
    },
  };
}
