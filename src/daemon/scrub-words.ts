import type { DatabaseLocation } from '../store/database-location.js';

/** How the log speaks of bytes that an erasure left: in a file that programs open, or in tables that a server keeps. */
export interface ScrubWords {
  readonly done: string;
  readonly remain: string;
  readonly blocked: string;
  readonly noRoom: string;
  /** For a command that ends, and is run again. */
  readonly hints: { readonly blocked: string; readonly no_room: string };
}

export const scrubWords: Readonly<Record<DatabaseLocation['kind'], ScrubWords>> = {
  sqlite: {
    done: 'erased identities are out of the file',
    remain: 'erased identities are still in the file',
    blocked: 'another process reads or writes it; close long reads',
    noRoom: 'the disk has no room to rewrite it',
    hints: {
      blocked: 'another process reads it: run rosterd sync again when it is done',
      no_room: 'make room on its disk for two more copies of it, then run rosterd sync again',
    },
  },
  postgres: {
    done: 'erased identities are out of the tables',
    remain: 'erased identities are still in the tables',
    blocked: 'an older transaction may still see them, or a session uses a table; end long transactions',
    noRoom: 'the disk of the server has no room to rewrite them',
    hints: {
      blocked: 'end long transactions on the server, then run rosterd sync again',
      no_room:
        'make room on the disk of the server for a copy of the largest table, then run rosterd sync again',
    },
  },
};
