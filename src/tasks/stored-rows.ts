import type { Config, SourceConfig } from '../config/config.js';
import { dropsIdentity, nameless } from '../daemon/without-identity.js';
import { withoutForgotten } from '../store/forgotten.js';
import { newestChange } from '../store/reads/changes.js';
import {
  countQuarantined,
  countStored,
  forgottenIds,
  idsAt,
  idsAwaitingDeletion,
  idsChangedSince,
  isUnchangedSince,
  storedIds,
  storedOfferings,
  storedTallies,
  storedVersions,
} from '../store/reads/verify-reads.js';
import type { StoredRows } from '../verify/ports.js';

type Db = Parameters<typeof countStored>[0];

/** Returns one source of the mirror as `verify` reads it. */
export function storedRowsOf(db: Db, source: SourceConfig, config: Pick<Config, 'identity'>): StoredRows {
  const { name } = source;
  return {
    count: () => countStored(db, name),
    tallies: (offering) => storedTallies(db, name, offering),
    offerings: () => storedOfferings(db, name),
    idsAt: (places) => idsAt(db, name, places),
    awaiting: () => idsAwaitingDeletion(db, name),
    ids: () => storedIds(db, name),
    quarantined: () => countQuarantined(db, name),
    records: (ids) => storedVersions(db, name, ids),
    mark: () => newestChange(db),
    isUnchangedSince: (mark) => isUnchangedSince(db, name, mark),
    changedSince: (mark) => idsChangedSince(db, name, mark),
    keepable: async (items) => {
      if (dropsIdentity(config, source)) return items.map(nameless);
      return withoutForgotten(items, await forgottenIds(db), () => null);
    },
  };
}
