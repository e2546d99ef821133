import type { Config, SourceConfig } from '../config/config.js';
import { nameless } from '../daemon/without-identity.js';
import { withoutForgotten } from '../store/forgotten.js';
import {
  countHeld,
  forgottenIds,
  idsAt,
  idsAwaitingDeletion,
  idsChangedSince,
  idsHeld,
  newestChange,
  offeringsHeld,
  quarantinedHeld,
  storedTallies,
  versionsHeld,
} from '../store/reads/verify-reads.js';
import type { StoredRows } from '../verify/ports.js';

type Db = Parameters<typeof countHeld>[0];

/** Returns one source of the mirror as `verify` reads it. */
export function storedRowsOf(
  db: Db,
  { name }: SourceConfig,
  { identity }: Pick<Config, 'identity'>,
): StoredRows {
  return {
    count: () => countHeld(db, name),
    tallies: () => storedTallies(db, name),
    offerings: () => offeringsHeld(db, name),
    idsAt: (places) => idsAt(db, name, places),
    awaiting: () => idsAwaitingDeletion(db, name),
    ids: () => idsHeld(db, name),
    quarantined: () => quarantinedHeld(db, name),
    records: (ids) => versionsHeld(db, name, ids),
    mark: () => newestChange(db, name),
    changedSince: (mark) => idsChangedSince(db, name, mark),
    keepable: async (items) => {
      if (identity === 'keep') return withoutForgotten(items, await forgottenIds(db), () => null);
      return items.map(nameless);
    },
  };
}
