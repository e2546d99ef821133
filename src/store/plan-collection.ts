import type { Collection, Differences, Listing, Row, Value } from '../dimensions/ports.js';
import type { Instant } from '../domain/instant.js';

/** A statement with `?` for its parameters. */
export interface Write {
  readonly sql: string;
  readonly values: readonly Value[];
}

interface Change {
  readonly kind: 'added' | 'changed' | 'removed';
  readonly id: string;
  readonly fields: readonly string[];
  readonly row: Row | null;
  readonly before: Row | null;
}

export interface CollectionPlan {
  readonly collection: Collection;
  readonly changes: readonly Change[];
  readonly differences: Differences;
}

export interface WriteOptions {
  readonly sourceNo: number;
  readonly at: Instant;
  /** The number of the first change. */
  readonly firstSeq: number;
}

/** Returns what a complete listing changes in the stored rows, in the order of their ids. */
export function planCollection(
  collection: Collection,
  rows: readonly Row[],
  stored: readonly Row[],
): CollectionPlan {
  const keyOf = (row: Row) => JSON.stringify(collection.key.map((column) => row[column]));
  const before = new Map(stored.map((row) => [keyOf(row), row]));
  const listed = new Map(rows.map((row) => [keyOf(row), row]));
  const changes: Change[] = [];
  for (const key of [...new Set([...before.keys(), ...listed.keys()])].sort()) {
    const old = before.get(key) ?? null;
    const row = listed.get(key) ?? null;
    const id = String((row ?? old)?.[collection.key[0] ?? 'id']);
    if (row === null) changes.push({ kind: 'removed', id, fields: [], row, before: old });
    else if (old === null) changes.push({ kind: 'added', id, fields: [], row, before: old });
    else {
      const fields = collection.columns.filter((column) => (row[column] ?? null) !== (old[column] ?? null));
      if (fields.length > 0) changes.push({ kind: 'changed', id, fields, row, before: old });
    }
  }
  const counted = (kind: Change['kind']) => changes.filter((change) => change.kind === kind).length;
  return {
    collection,
    changes,
    differences: { added: counted('added'), changed: counted('changed'), removed: counted('removed') },
  };
}

/** Returns the statements of a plan: superseded versions, rows and the change feed. */
export function writesOf({ collection, changes }: CollectionPlan, options: WriteOptions): readonly Write[] {
  return changes.flatMap((change, index) => {
    const seq = options.firstSeq + index;
    return [
      ...rowWrites(collection, change, seq, options),
      ...announcement(collection, change, seq, options),
    ];
  });
}

/** Returns how many numbers of the change feed the plan needs. */
export function announced({ collection, changes }: CollectionPlan): number {
  return collection.versions === null ? 0 : changes.length;
}

function rowWrites(
  { table, key, columns, versions }: Collection,
  { row, before, kind }: Change,
  seq: number,
  { sourceNo, at }: WriteOptions,
): readonly Write[] {
  const writes: Write[] = [];
  const own = [sourceNo, ...key.map((column) => (before ?? row)?.[column] ?? null)];
  const where = `source_no = ? AND ${key.map((column) => `${column} = ?`).join(' AND ')}`;
  if (before !== null && versions !== null && versions.history !== null) {
    const kept = ['source_no', ...columns, 'valid_from', 'change_seq'].join(', ');
    writes.push({
      sql: `INSERT INTO ${versions.history} (${kept}, valid_to, ended_by)
            SELECT ${kept}, CAST(? AS text), CAST(? AS text) FROM ${table} WHERE ${where}`,
      values: [at, kind === 'removed' ? 'removed' : 'update', ...own],
    });
  }
  if (before !== null) writes.push({ sql: `DELETE FROM ${table} WHERE ${where}`, values: own });
  if (row === null) return writes;
  const stamped = versions === null ? [] : ['valid_from', 'change_seq'];
  const names = ['source_no', ...columns, ...stamped];
  writes.push({
    sql: `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    values: [
      sourceNo,
      ...columns.map((column) => row[column] ?? null),
      ...(versions === null ? [] : [at, seq]),
    ],
  });
  return writes;
}

function announcement(
  { versions, columns }: Collection,
  { kind, id, fields, before, row }: Change,
  seq: number,
  { sourceNo, at }: WriteOptions,
): readonly Write[] {
  if (versions === null) return [];
  const shown = kind === 'changed' ? fields : columns.filter((column) => column !== 'id');
  return [
    {
      sql: `INSERT INTO change_rows (seq, source_no, about, id, kind, fields, reason, at, old_values, new_values)
            VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)`,
      values: [
        ...[seq, sourceNo, versions.about, id, kind, JSON.stringify(fields), at],
        ...[valuesOf(before, shown), valuesOf(row, shown)],
      ],
    },
  ];
}

function valuesOf(row: Row | null, columns: readonly string[]): string | null {
  if (row === null) return null;
  return JSON.stringify(Object.fromEntries(columns.map((column) => [column, row[column] ?? null])));
}

/** Returns the statement that records how a listing ended. A problem that persists keeps the time it began. */
export function collectionWrite(listing: Listing, sourceNo: number, now: Instant): Write {
  const { name } = listing.collection;
  const problem = listing.problem;
  if (listing.kind === 'complete')
    return {
      sql: `UPDATE collection_rows SET listed_at = ?, problem = ?,
              problem_since = CASE WHEN CAST(? AS text) IS NULL THEN NULL ELSE coalesce(problem_since, ?) END
            WHERE source_no = ? AND collection = ?`,
      values: [now, problem, problem, now, sourceNo, name],
    };
  return {
    sql: `UPDATE collection_rows SET problem = coalesce(?, problem),
            problem_since = CASE WHEN coalesce(CAST(? AS text), problem) IS NULL THEN NULL ELSE coalesce(problem_since, ?) END
          WHERE source_no = ? AND collection = ?`,
    values: [problem, problem, now, sourceNo, name],
  };
}

export const beginSql = `INSERT INTO collection_rows (source_no, collection, attempt, asked_at) VALUES (?, ?, ?, ?)
  ON CONFLICT (source_no, collection) DO UPDATE SET attempt = excluded.attempt, asked_at = excluded.asked_at`;

export const attemptSql =
  'SELECT coalesce(max(attempt), 0) AS attempt FROM collection_rows WHERE source_no = ?';

export const attemptsSql = 'SELECT collection, attempt FROM collection_rows WHERE source_no = ?';

export const namesSql = `SELECT 'company' AS about, c.id, c.name FROM company_rows c JOIN sources s ON s.no = c.source_no
    WHERE s.name = ?
  UNION ALL
  SELECT 'round', o.id, o.name FROM offering_rows o JOIN sources s ON s.no = o.source_no WHERE s.name = ?`;

/** A start reads no more of the inbox than this: these are the newest events. */
const eventsLookedAt = 2_000;

export const touchedSql = (beginnings: readonly string[]) =>
  `SELECT max(received_at) AS at
   FROM (SELECT event, received_at FROM webhook_inbox ORDER BY inbox_no DESC LIMIT ${eventsLookedAt}) AS newest
   WHERE ${beginnings.map(() => 'event LIKE ?').join(' OR ')}`;

export const listedSql = `SELECT c.collection, c.listed_at FROM collection_rows c JOIN sources s ON s.no = c.source_no
  WHERE s.name = ? AND c.listed_at IS NOT NULL`;

/** Reads every row of a collection, as `planCollection` compares them. */
export function storedSql({ table, columns }: Collection): string {
  return `SELECT ${columns.join(', ')} FROM ${table} WHERE source_no = ?`;
}

/** The rounds that the published investments of a source name. SQLite keeps them in `round_rows`. */
export const investedSql = (rows: string, isCounted: string) =>
  `SELECT r.offering_id AS id, min(r.company_id) AS company_id,
     CASE WHEN min(r.currency) = max(r.currency) THEN min(r.currency) END AS currency
   FROM ${rows} r JOIN sources s ON s.no = r.source_no
   WHERE r.source_no = ? AND s.listed_at IS NOT NULL AND r.offering_id IS NOT NULL AND ${isCounted}
   GROUP BY r.offering_id ORDER BY r.offering_id`;

/** The rounds that investments name and that are not stored. `rows` and `isCounted` are as in `investedSql`. */
export const unlistedSql = (rows: string, isCounted: string) =>
  `SELECT DISTINCT r.offering_id AS id FROM ${rows} r JOIN sources s ON s.no = r.source_no
   WHERE s.name = ? AND s.listed_at IS NOT NULL AND r.offering_id IS NOT NULL AND ${isCounted}
     AND NOT EXISTS (SELECT 1 FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id)`;

/** The superseded versions of companies and rounds. */
export const catalogHistory = ['company_history_rows', 'offering_history_rows'] as const;

/** Selects the last of the next changes after a number; null if there are none. */
export const lastOfSliceSql = `SELECT max(seq) AS last
  FROM (SELECT seq FROM change_rows WHERE seq > ? ORDER BY seq LIMIT ?) AS slice`;

/** Forgets the values of changes in such a slice whose versions were purged, or would have been: posts have none. */
export const forgetValuesSql = `UPDATE change_rows SET old_values = NULL, new_values = NULL
  WHERE about IS NOT NULL AND at < ? AND seq > ? AND seq <= ? AND (old_values IS NOT NULL OR new_values IS NOT NULL)`;
