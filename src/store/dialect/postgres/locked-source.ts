import { notStored } from '../../lease-rules.js';
import {
  type LeaseRow,
  type ListingRow,
  type SourceRow,
  type SweepRow,
  sourceColumns,
} from '../../source-row.js';
import { presentSchema, refuseOutdated } from './one-version.js';
import { statement, type Transaction } from './transaction.js';

/** A source whose row this transaction has locked, with its related rows, read after the lock was acquired. */
export interface LockedSource {
  readonly source: SourceRow;
  readonly lease: LeaseRow | undefined;
  readonly listing: ListingRow | null;
  readonly sweep: SweepRow | null;
  /** Whether the indexes exist, so that records can be found by id or investor. */
  readonly indexed: boolean;
  /** Whether the unique index on ids exists; `buildIdIndex` may build it in the middle of a first listing. */
  readonly idsIndexed: boolean;
  /** Ids of people and investments whose personal data must not be stored. */
  readonly forgotten: ReadonlySet<string>;
  readonly anyStaged: boolean;
}

/** Named one by one: a column that a later migration adds would end a prepared `SELECT *` before the schema is compared. */
const columns: readonly (keyof SourceRow)[] = [
  'no',
  'name',
  ...sourceColumns,
  'history_from',
  'erasing_since',
];
const lockSource = statement(
  'lock_source',
  `SELECT ${columns.join(', ')} FROM sources WHERE name = $1 FOR NO KEY UPDATE`,
);

const behind = statement(
  'behind_source',
  `SELECT l.holder, l.fence, l.expires_at,
          to_regclass('investment_rows_investor') IS NOT NULL AS indexed,
          to_regclass('investment_rows_id') IS NOT NULL AS ids_indexed,
          ARRAY(SELECT id FROM forgotten) AS forgotten,
          (SELECT row_to_json(x) FROM listings x WHERE x.source_no = s.no) AS listing,
          (SELECT row_to_json(x) FROM sweeps x WHERE x.source_no = s.no) AS sweep,
          EXISTS (SELECT 1 FROM staged_rows x WHERE x.source_no = s.no) AS staged,
          ${presentSchema} AS schema
   FROM sources s LEFT JOIN leases l ON l.source_no = s.no WHERE s.name = $1`,
);

interface Behind {
  readonly holder: string | null;
  readonly fence: number;
  readonly expires_at: string;
  readonly indexed: 0 | 1;
  readonly ids_indexed: 0 | 1;
  readonly forgotten: readonly string[];
  readonly listing: string | null;
  readonly sweep: string | null;
  readonly staged: 0 | 1;
  readonly schema: number;
}

/**
 * Locks the source, then reads the rest in a second statement with a new snapshot. A single statement that waited for
 * the lock would see everything but the locked row as it was before the wait, including a lease taken over since. Throws
 * `database_unusable` if a later version has migrated the database meanwhile.
 */
export async function lockedSource(transaction: Transaction, name: string): Promise<LockedSource> {
  const [source, found] = await Promise.all([
    transaction.row<SourceRow>(lockSource, name),
    transaction.row<Behind>(behind, name),
  ]);
  if (source === undefined || found === undefined) throw notStored(name);
  refuseOutdated(found.schema);
  const { holder, fence, expires_at } = found;
  return {
    source,
    lease: holder === null ? undefined : { holder, fence, expires_at },
    listing: found.listing === null ? null : (JSON.parse(found.listing) as ListingRow),
    sweep: found.sweep === null ? null : (JSON.parse(found.sweep) as SweepRow),
    indexed: found.indexed === 1,
    idsIndexed: found.ids_indexed === 1,
    forgotten: new Set(found.forgotten),
    anyStaged: found.staged === 1,
  };
}

/**
 * Locks every source, for work on people in all of them: meanwhile no page can store personal data unnoticed. Takes the
 * locks in a fixed order, and must be called before any other lock is taken, to avoid deadlocks.
 */
export async function lockAllSources(transaction: Transaction): Promise<void> {
  await transaction.run('SELECT no FROM sources ORDER BY no FOR NO KEY UPDATE');
}
