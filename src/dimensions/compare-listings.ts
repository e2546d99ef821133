import type { CollectionName, Known, Listing, Row } from './ports.js';

/** A company, round or post that differs; `columns` is empty for one that only one side has. */
export interface CatalogDifference {
  readonly kind: 'record' | 'missing' | 'extra';
  readonly collection: CollectionName;
  readonly id: string;
  readonly columns: readonly string[];
}

export interface Compared {
  readonly compared: number;
  readonly differences: readonly CatalogDifference[];
}

/** They change with every investment, and are as of the last listing. */
const moving: ReadonlySet<string> = new Set([
  ...['raised_cents', 'profile_raised_cents', 'raised_cents_reported', 'investor_count_reported'],
]);

/** Compares what the platform serves with the stored rows of the collections that have versions. */
export function compareListings(listings: readonly Listing[], known: Known): Compared {
  const differences: CatalogDifference[] = [];
  let compared = 0;
  for (const listing of listings) {
    const { collection } = listing;
    if (listing.kind !== 'complete' || collection.versions === null) continue;
    const { name } = collection;
    const stored = new Map(known.stored.get(name)?.map((row) => [String(row.id), row]));
    for (const row of listing.rows) {
      const id = String(row.id);
      const own = stored.get(id);
      stored.delete(id);
      compared += 1;
      const columns = own === undefined ? [] : differing(collection.columns, row, own);
      if (own === undefined) differences.push({ kind: 'missing', collection: name, id, columns });
      else if (columns.length > 0) differences.push({ kind: 'record', collection: name, id, columns });
    }
    for (const id of stored.keys()) differences.push({ kind: 'extra', collection: name, id, columns: [] });
  }
  return { compared, differences };
}

const differing = (columns: readonly string[], one: Row, other: Row): readonly string[] =>
  columns.filter((column) => !moving.has(column) && (one[column] ?? null) !== (other[column] ?? null));
