import { quotedText, type Workshop } from '../duckdb.js';
import { columnTypes } from '../parquet-types.js';
import type { RowSource } from '../ports.js';
import { readFiles } from './current-rows.js';
import type { DataFiles } from './data-files.js';
import { columnsOf, isSameColumns, type LakeIdentities } from './layout.js';

export interface PeopleParts {
  readonly folder: string;
  readonly duckdb: Workshop;
  readonly files: DataFiles;
}

/** With more people, a source has sixteen files of them, so that one change rewrites a sixteenth. */
const bucketRowsMin = 50_000;

/** Rewrites the files of people in which anything differs: there is one state of them, the current one. */
export async function writePeople(
  source: RowSource,
  before: LakeIdentities | null,
  parts: PeopleParts,
): Promise<LakeIdentities> {
  const { folder: lake, duckdb } = parts;
  const columns = columnsOf(source.columns, columnTypes);
  await duckdb.load('people', source);
  const sizes = `SELECT source, count(*) AS size FROM people GROUP BY source`;
  const bucket = `CASE WHEN s.size > ${bucketRowsMin} THEN substr(md5(p.id), 1, 1) ELSE 'all' END AS bucket`;
  const label = (rows: string) =>
    `SELECT p.*, ${bucket} FROM ${rows} p LEFT JOIN (${sizes}) s USING (source)`;
  const wanted = (await duckdb.rows(
    `SELECT DISTINCT source, bucket FROM (${label('people')}) ORDER BY ALL`,
  )) as readonly (readonly [string, string])[];
  const kept = new Map<string, LakeIdentities['files'][number]>();
  if (before !== null && before.files.length > 0 && isSameColumns(before.columns, columns)) {
    const old = readFiles(lake, before.files);
    const differing = await duckdb.rows(`SELECT DISTINCT source, bucket FROM (
      (${label('people')} EXCEPT ALL ${label(old)}) UNION ALL (${label(old)} EXCEPT ALL ${label('people')}))`);
    const changed = new Set(differing.map((one) => one.join(' ')));
    for (const file of before.files) {
      const key = `${file.source} ${file.bucket}`;
      if (!changed.has(key)) kept.set(key, file);
    }
  }
  const files: LakeIdentities['files'][number][] = [];
  for (const [of, part] of wanted) {
    const same = kept.get(`${of} ${part}`);
    const rows = `SELECT * EXCLUDE (bucket) FROM (${label('people')})
      WHERE source = ${quotedText(of)} AND bucket = ${quotedText(part)} ORDER BY id`;
    const folder = `identities/source=${of}/bucket=${part}`;
    files.push(same ?? { ...(await parts.files.write(folder, rows, 'people')), source: of, bucket: part });
  }
  return { columns, files };
}
