import { join } from 'node:path';
import { quotedText } from '../duckdb.js';
import type { LakeColumn, LakeFile, LakeIdentities, LakeManifest } from './layout.js';

/** Returns a call that reads these files, of which there is at least one. */
export function readFiles(folder: string, files: readonly Pick<LakeFile, 'path'>[]): string {
  const paths = files.map(({ path }) => quotedText(join(folder, path)));
  // Rows carry their own source: nothing is taken from the names of folders. A later version may have added a column.
  return `read_parquet([${paths.join(', ')}], hive_partitioning = false, union_by_name = true)`;
}

/**
 * Returns a query of the investments of a snapshot as its files have them: the base, except rows that changed later,
 * and the last version of those that did.
 */
export function investmentsOf(folder: string, { snapshot, tables }: LakeManifest): string {
  const { investments, investment_changes: changes } = tables;
  const names = investments.columns.map(({ name }) => name).join(', ');
  // DuckDB rejects an empty list of files. The base of a mirror without sources has none.
  const base =
    investments.files.length === 0
      ? noRows(investments.columns)
      : `SELECT ${names} FROM ${readFiles(folder, investments.files)}`;
  const later = changes.files.filter(({ last_snapshot }) => last_snapshot > investments.base_snapshot);
  if (later.length === 0) return base;
  const last = `SELECT * FROM ${readFiles(folder, later)}
    WHERE snapshot > ${investments.base_snapshot} AND snapshot <= ${snapshot}
    QUALIFY row_number() OVER (PARTITION BY source, id ORDER BY snapshot DESC) = 1`;
  return `SELECT ${names} FROM (${base}) b ANTI JOIN (${last}) l USING (source, id)
    UNION ALL SELECT ${names} FROM (${last}) WHERE op = 'upsert'`;
}

/** Returns a query of a table that has no file yet. */
const noRows = (columns: readonly LakeColumn[]): string =>
  `SELECT ${columns.map(({ name, type }) => `NULL::${type} AS ${name}`).join(', ')} WHERE false`;

export interface ViewsWanted {
  readonly manifest: LakeManifest;
  readonly identities: LakeIdentities | null;
}

/** Returns the statements that create the views of a snapshot in DuckDB. */
export function viewsOf(folder: string, { manifest, identities }: ViewsWanted): string {
  const { snapshot, taken_at, tables } = manifest;
  const view = (name: string, query: string) => `CREATE OR REPLACE VIEW ${name} AS\n${query};\n`;
  const plain = (name: 'companies' | 'rounds') =>
    view(name, `SELECT * FROM ${readFiles(folder, tables[name].files)}`);
  const changes = tables.investment_changes.files;
  const people = identities?.files ?? [];
  const peopleNames = (identities?.columns ?? [])
    .map(({ name }) => name)
    .filter((name) => name !== 'source' && name !== 'id');
  return [
    `-- Snapshot ${snapshot} of ${taken_at}, for DuckDB.\n`,
    plain('companies'),
    plain('rounds'),
    view(
      'investments',
      `SELECT i.*, c.name AS company_name, r.name AS round_name\nFROM (${investmentsOf(folder, manifest)}) i
LEFT JOIN companies c ON c.source = i.source AND c.id = i.company_id
LEFT JOIN rounds r ON r.source = i.source AND r.id = i.offering_id`,
    ),
    view(
      'investment_changes',
      changes.length === 0
        ? noRows(tables.investment_changes.columns)
        : `SELECT * FROM ${readFiles(folder, changes)} WHERE snapshot <= ${snapshot}`,
    ),
    ...(people.length === 0
      ? []
      : [
          view('identities', `SELECT * FROM ${readFiles(folder, people)}`),
          view(
            'roster',
            `SELECT i.*, ${peopleNames.map((name) => `p.${name}`).join(', ')}
FROM investments i LEFT JOIN identities p ON p.source = i.source AND p.id = i.id`,
          ),
        ]),
  ].join('');
}
