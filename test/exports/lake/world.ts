import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { viewsOf } from '../../../src/exports/lake/current-rows.js';
import { type LakeDisk, systemLakeDisk } from '../../../src/exports/lake/disk.js';
import { readLake } from '../../../src/exports/lake/layout.js';
import { type LakeAsk, type LakeSynced, syncLake } from '../../../src/exports/lake/sync-lake.js';
import type { Clock } from '../../../src/runtime/clock.js';
import { seededRandom } from '../../../src/runtime/random.js';
import { readForLake } from '../../../src/store/reads/lake-source.js';
import { type Fixture, placeOf } from '../../store/mirror-fixture.js';

const idle = new AbortController().signal;
const random = seededRandom(7);

/** The fixture's clock moves at every reading; waiting for the next renewal of the lock would never end. */
const patient = (clock: Clock): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  wait: (_, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) resolve();
      signal?.addEventListener('abort', () => resolve(), { once: true });
    }),
});

/** Brings the lake in `folder` to the state of a mirror. */
export function sync(
  { store, clock }: Pick<Fixture, 'store' | 'clock'>,
  folder: string,
  more: Partial<LakeAsk> & { readonly disk?: LakeDisk; readonly onRead?: () => Promise<void> } = {},
): Promise<LakeSynced> {
  const { disk = systemLakeDisk, onRead = async () => {}, ...ask } = more;
  return syncLake(
    (work) =>
      readForLake(placeOf(store), async (mirror) => {
        await onRead();
        return await work(mirror);
      }),
    { folder, identity: false, compact: false, keep: 100, ...ask },
    { clock: patient(clock), random, signal: idle, disk, version: '0.1.0' },
  );
}

type Row = Readonly<Record<string, unknown>>;

let duckdb: Promise<DuckDBInstance> | null = null;
let asked = 0;

/** Runs a query in DuckDB over the views of the current snapshot. */
export async function askLake(folder: string, sql: string, views = currentViews(folder)): Promise<Row[]> {
  duckdb ??= DuckDBInstance.create(':memory:', { threads: '1' });
  const connection = await (await duckdb).connect();
  try {
    // A database of its own, so that no view of another lake is left in it.
    const name = `lake${++asked}`;
    await connection.run(`SET TimeZone = 'UTC'; ATTACH ':memory:' AS ${name}; USE ${name}`);
    await connection.run(views);
    const read = await connection.runAndReadAll(sql);
    return read.getRowObjectsJson() as Row[];
  } finally {
    connection.closeSync();
  }
}

export function currentViews(folder: string): string {
  const state = readLake(folder);
  if (state === null) throw new Error('no lake');
  return viewsOf(folder, { manifest: state.manifest, identities: state.pointer.identities });
}

const compared = [
  ...['source', 'id', 'company_id', 'status', 'currency', 'committed_cents', 'raised_cents'],
  ...[
    'in_escrow_cents',
    'shares',
    'visible',
    'observed_at',
    'reason',
    'valid_from',
    'change_seq',
    'blockers',
  ],
  ...['company_name', 'round_name'],
] as const;

/** The investments of the lake, with the values that a mirror stores. */
export async function lakeRows(folder: string, views?: string): Promise<Row[]> {
  const time = (name: string) => `strftime(${name}, '%Y-%m-%dT%H:%M:%S.%gZ') AS ${name}`;
  const columns = compared.map((name) => {
    if (name === 'observed_at' || name === 'valid_from') return time(name);
    if (name === 'shares') return `CAST(CAST(shares AS DOUBLE) AS VARCHAR) AS shares`;
    return name === 'visible' ? 'CAST(visible AS INTEGER) AS visible' : name;
  });
  const rows = await askLake(
    folder,
    `SELECT ${columns.join(', ')} FROM investments ORDER BY source, id`,
    views,
  );
  return rows.map(plain);
}

/** The same of the mirror. */
export async function mirrorRows({ rows }: Pick<Fixture, 'rows'>): Promise<Row[]> {
  const found = (await rows(`SELECT ${compared.join(', ')} FROM investments ORDER BY source, id`)) as Row[];
  return found.map(plain).sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

const key = (row: Row): string => `${row.source} ${row.id}`;
const numbers = new Set([
  'committed_cents',
  'raised_cents',
  'in_escrow_cents',
  'change_seq',
  'shares',
  'visible',
]);
const plain = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value !== null && numbers.has(name) ? Number(value) : value,
    ]),
  );

/** Every file of a folder, below it. */
export function filesOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** Everything that the files of a lake contain, as text: the values of Parquet files are compressed. */
export async function contentOf(folder: string): Promise<string> {
  const texts: string[] = [];
  for (const file of filesOf(folder)) {
    const path = join(folder, file);
    if (file.endsWith('.parquet'))
      texts.push(JSON.stringify(await askLake(folder, `FROM read_parquet('${path}')`, 'SELECT 1')));
    else texts.push(readFileSync(path, 'utf8'));
  }
  return texts.join('\n');
}
