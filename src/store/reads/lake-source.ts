import type { ExportColumn, LakeMirror, LakePosition, LakeSource, RowSource } from '../../exports/ports.js';
import type { DatabaseLocation } from '../database-location.js';
import { dialectFor } from '../dialect/dialect-for.js';
import type { AskRows } from '../dialect/port.js';
import { investmentColumns, personColumns } from './columns.js';
import { columnsIn, kindOf } from './export-rows.js';

/** Lets `work` read everything that a lake needs from one state of the mirror. */
export async function readForLake<Result>(
  location: DatabaseLocation,
  work: (mirror: LakeMirror) => Promise<Result>,
): Promise<Result> {
  return await dialectFor(location).inRowSnapshot(async (ask) => await work(await lakeMirror(ask)));
}

/** `extra` may contain personal data; the names of companies and rounds change without the row. */
const apart: ReadonlySet<string> = new Set(['extra', 'company_name', 'round_name']);
const storedNames = investmentColumns.filter((name) => !apart.has(name));
const stored = storedNames.map((name): ExportColumn => ({ name, kind: kindOf(name) }));

const amounts = ['committed_cents', 'investment_size_cents', 'in_escrow_cents', 'raised_cents'] as const;

async function lakeMirror(ask: AskRows): Promise<LakeMirror> {
  const all = async <Row>(sql: string, values: readonly (string | number)[] = []): Promise<Row[]> => {
    const rows: Row[] = [];
    for await (const row of ask<Row>(sql, values)) rows.push(row);
    return rows;
  };
  const markAt = async (seq: number): Promise<string> =>
    JSON.stringify(
      await all(
        `SELECT s.name AS source, c.id, c.kind, c.at FROM change_rows c JOIN sources s ON s.no = c.source_no
         WHERE c.seq = ?`,
        [seq],
      ),
    );
  const rowsOf = (
    columns: readonly ExportColumn[],
    sql: string,
    values: readonly (string | number)[] = [],
  ): RowSource => ({
    columns,
    async *rows() {
      for await (const row of ask<Record<string, null | string | number>>(sql, values))
        yield columns.map(({ name }) => row[name] ?? null);
    },
  });
  const list = (names: readonly string[], from = '') => names.map((name) => `${from}${name}`).join(', ');
  const relation = (name: string): RowSource => {
    const columns = columnsIn(name);
    return rowsOf(
      columns,
      `SELECT ${list(columns.map((column) => column.name))} FROM ${name} ORDER BY source, id`,
    );
  };
  const position = await positionOf(all, markAt);
  return {
    position,
    investmentColumns: stored,
    investments: () => rowsOf(stored, `SELECT ${list(storedNames)} FROM investments`),
    companies: () => relation('companies'),
    rounds: () => relation('rounds'),
    identities: () => {
      const people = [...personColumns, 'extra'] as const;
      const columns = ['source', 'id', ...people].map((name): ExportColumn => ({ name, kind: kindOf(name) }));
      const some = people.map((name) => `${name} IS NOT NULL`).join(' OR ');
      return rowsOf(columns, `SELECT source, id, ${list(people)} FROM roster WHERE ${some}`);
    },
    continues: (since) => continues(since, position, all, markAt),
    touched: (since) => {
      const keys = touchedKeys(since);
      const columns = stored.filter(({ name }) => name === 'source' || name === 'id');
      return rowsOf(columns, `${keys.with} SELECT source, id FROM touched`, keys.values);
    },
    changed: (since) => {
      const keys = touchedKeys(since);
      // SQLite then looks up each touched row instead of reading all of them.
      const sql = `${keys.with} SELECT ${list(storedNames, 'i.')} FROM touched t CROSS JOIN investments i
        WHERE i.source = t.source AND i.id = t.id`;
      return rowsOf(stored, sql, keys.values);
    },
  };
}

type All = <Row>(sql: string, values?: readonly (string | number)[]) => Promise<Row[]>;

async function positionOf(all: All, markAt: (seq: number) => Promise<string>): Promise<LakePosition> {
  const [newest] = await all<{ seq: number | null }>('SELECT max(seq) AS seq FROM change_rows');
  const change_seq = Number(newest?.seq ?? 0);
  const erased = await all<{ count: number; last: number | null }>(
    'SELECT count(*) AS count, max(erasure) AS last FROM erasures',
  );
  return {
    change_seq,
    change_mark: await markAt(change_seq),
    erasure_mark: JSON.stringify(erased.map(({ count, last }) => [Number(count), Number(last ?? 0)])),
    sources: await sourcesOf(all),
  };
}

async function sourcesOf(all: All): Promise<readonly LakeSource[]> {
  // In two parts, because a sum of 64-bit numbers may not fit into 64 bits.
  const parts = amounts.flatMap((name) => [
    `CAST(sum(${name} / 1000000) AS TEXT) AS ${name}_high`,
    `CAST(sum(${name} % 1000000) AS TEXT) AS ${name}_low`,
  ]);
  const totals = new Map(
    (
      await all<Record<string, string | number | null>>(
        `SELECT source, count(*) AS count, ${parts.join(', ')} FROM investments GROUP BY source`,
      )
    ).map((row) => [String(row.source), row]),
  );
  const sources = await all<Omit<LakeSource, 'rows' | 'sums'> & { readonly history_from: string | null }>(
    `SELECT s.name AS source, s.listed_at, t.complete_up_to, s.history_from,
       coalesce((SELECT max(h.valid_to) FROM history_rows h WHERE h.source_no = s.no), '') AS history_to
     FROM sources s JOIN sync_status t ON t.source = s.name
     WHERE s.listed_at IS NOT NULL ORDER BY s.name`,
  );
  return sources.map(({ history_from, ...source }) => {
    const total = totals.get(source.source);
    const part = (name: string) => BigInt(total?.[name] ?? 0);
    const sums = amounts.map((name) => [
      name,
      String(part(`${name}_high`) * 1_000_000n + part(`${name}_low`)),
    ]);
    return {
      ...source,
      // The last one may have been purged.
      history_to: later(source.history_to, history_from),
      rows: Number(total?.count ?? 0),
      sums: Object.fromEntries(sums),
    };
  });
}

const later = (time: string, other: string | null): string => (other !== null && other > time ? other : time);

async function continues(
  since: LakePosition,
  now: LakePosition,
  all: All,
  markAt: (seq: number) => Promise<string>,
): Promise<boolean> {
  const listed = ({ sources }: LakePosition) =>
    JSON.stringify(sources.map(({ source, listed_at }) => [source, listed_at]));
  if (since.sources.length === 0) return false;
  if (now.change_seq < since.change_seq || listed(now) !== listed(since)) return false;
  if ((await markAt(since.change_seq)) !== since.change_mark) return false;
  if (await isPurgedSince(since, all)) return false;
  const [later] = await all<{ count: number; snapshots: number | null }>(
    `SELECT count(*) AS count, sum(CASE WHEN kind = 'snapshot' THEN 1 ELSE 0 END) AS snapshots
     FROM change_rows WHERE seq > ?`,
    [since.change_seq],
  );
  return (
    Number(later?.count ?? 0) === now.change_seq - since.change_seq && Number(later?.snapshots ?? 0) === 0
  );
}

/** Returns whether versions that were superseded since are gone: `touchedKeys` then lacks records published again. */
async function isPurgedSince({ sources }: LakePosition, all: All): Promise<boolean> {
  const reached = new Map(sources.map(({ source, history_to }) => [source, history_to]));
  const purged = await all<{ source: string; history_from: string }>(
    'SELECT name AS source, history_from FROM sources WHERE history_from IS NOT NULL',
  );
  return purged.some(({ source, history_from }) => history_from > (reached.get(source) ?? history_from));
}

/**
 * Selects the investments that may differ: those with a change, and those with a version superseded since. A record
 * that the platform published again with equal content has a new version and no change.
 */
function touchedKeys({ change_seq, sources }: LakePosition) {
  const known = sources.map(() => '(?, ?)').join(', ');
  return {
    with: `WITH reached (source, history_to) AS (VALUES ${known}), touched AS (
      SELECT s.name AS source, c.id FROM change_rows c JOIN sources s ON s.no = c.source_no
      WHERE c.seq > ? AND c.about IS NULL AND c.id IS NOT NULL
      UNION
      SELECT s.name AS source, h.id FROM reached r
      JOIN sources s ON s.name = r.source
      JOIN history_rows h ON h.source_no = s.no AND h.valid_to >= r.history_to)`,
    values: [...sources.flatMap(({ source, history_to }) => [source, history_to]), change_seq],
  };
}
