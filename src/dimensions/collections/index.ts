import type { Collection, CollectionName } from '../ports.js';
import { companies } from './companies.js';
import { companyUpdates } from './company-updates.js';
import { roundStats } from './round-stats.js';
import { rounds } from './rounds.js';

/** Every collection, in the order in which they are listed: a later one needs what the earlier ones found. */
export const collections: Readonly<Record<CollectionName, Collection>> = {
  companies,
  rounds,
  round_stats: roundStats,
  company_updates: companyUpdates,
};

/** Beginnings of the names of all events that may change a collection. */
export const touching: readonly string[] = [
  ...new Set(Object.values(collections).flatMap(({ touchedBy }) => touchedBy)),
];

/** Returns the collections that an event may have changed. */
export function touchedBy(event: string): readonly CollectionName[] {
  return Object.values(collections)
    .filter(({ touchedBy: beginnings }) => beginnings.some((beginning) => event.startsWith(beginning)))
    .map(({ name }) => name);
}
