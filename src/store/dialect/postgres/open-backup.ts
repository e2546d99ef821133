import { open } from 'node:fs/promises';
import { Fault } from '../../../domain/fault.js';
import type { Instant } from '../../../domain/instant.js';
import { type RestoreParts, throwIfStopped } from '../../backup/made.js';
import type { AppliedMigration } from '../../migrate.js';
import { migratedTables } from '../../migrate-data/migrated-tables.js';
import { type ArchivedTable, lineEnds, readArchive } from './archive.js';
import { readDump } from './dump.js';

/** A backup that was read and verified once. `read` reads it again, a table at a time. */
export interface Backup {
  readonly format: 'pg_dump' | 'copy';
  readonly madeAt: Instant | null;
  readonly migrations: readonly AppliedMigration[];
  readonly schema: number;
  /** The last number of the change feed; null where only its rows say it. */
  readonly lastSeq: number | null;
  readonly indexes: readonly string[] | null;
  readonly rows: ReadonlyMap<string, number>;
  /** By table: the digest of its rows in the order of its key. Null for a format without digests. */
  readonly digests: ReadonlyMap<string, string | null> | null;
  read(take: (table: ArchivedTable) => Promise<void>): Promise<void>;
}

/** In a dump, the table with the last number of the change feed. An archive has that number in its head. */
export const feedCounter = 'feed_counter';

/** Reads the whole file once. Throws `usage` for a file of another kind and `database_unusable` for a damaged one. */
export async function openBackup(file: string, parts: RestoreParts): Promise<Backup> {
  const begin = await beginOf(file);
  if (begin.startsWith('PGDMP')) return await openDump(file, parts);
  if (begin.startsWith('\u001f\u008b')) return await openArchive(file, parts);
  throw new Fault('usage', `${file} is not a backup of a mirror in PostgreSQL`, {
    hint: begin.startsWith('SQLite format 3')
      ? 'it is a SQLite file; rosterd migrate --from sqlite:FILE --to postgres://… copies it to PostgreSQL'
      : 'rosterd backup FILE makes one',
  });
}

async function beginOf(file: string): Promise<string> {
  try {
    const handle = await open(file, 'r');
    try {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0);
      return buffer.toString('latin1', 0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new Fault('usage', `${file} cannot be read (${code})`, {
      hint: 'name a file that rosterd backup made',
      cause,
    });
  }
}

async function openArchive(file: string, { signal }: RestoreParts): Promise<Backup> {
  const rows = new Map<string, number>();
  const digests = new Map<string, string | null>();
  let backup: Backup | null = null;
  const counting = counter(rows, signal);
  const found = await readArchive(
    file,
    async ({ made_at, migrations, last_seq, indexes }) => {
      backup = {
        format: 'copy',
        madeAt: made_at,
        migrations,
        schema: schemaOf(migrations),
        rows,
        digests,
        lastSeq: last_seq,
        indexes,
        read: async (take) => void (await readArchive(file, async () => {}, take)),
      };
    },
    counting,
  );
  for (const { table, sha256 } of found) digests.set(table, sha256);
  if (backup === null) throw new Error('an archive was read without its head');
  return backup;
}

async function openDump(file: string, { env, signal }: RestoreParts): Promise<Backup> {
  let text = '';
  let columns: readonly string[] = [];
  const takeMigrations = async (table: ArchivedTable) => {
    columns = table.columns;
    for await (const chunk of table.lines) text += chunk.toString('utf8');
  };
  await readDump(file, env, signal, takeMigrations, 'migrations');
  const migrations = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const cells = line.split('\t');
      const of = (name: string) => cells[columns.indexOf(name)] ?? '';
      return {
        number: Number(of('number')),
        name: of('name'),
        checksum: of('checksum'),
        version: of('version'),
      };
    });
  const rows = new Map<string, number>();
  await readDump(file, env, signal, counter(rows, signal));
  return {
    format: 'pg_dump',
    madeAt: null,
    migrations,
    schema: schemaOf(migrations),
    rows,
    // Rows of a dump have no order, and the file has no digests.
    digests: null,
    lastSeq: null,
    indexes: null,
    // The file has the tables in any order, but a row must come after the row it refers to.
    read: async (take) => {
      for (const name of [...migratedTables.map((table) => table.name), feedCounter])
        await readDump(file, env, signal, take, name);
    },
  };
}

const schemaOf = (migrations: readonly AppliedMigration[]): number =>
  Math.max(0, ...migrations.map(({ number }) => number));

const counter =
  (rows: Map<string, number>, signal: AbortSignal) =>
  async ({ table, lines }: ArchivedTable): Promise<void> => {
    let count = 0;
    for await (const chunk of lines) {
      throwIfStopped(signal);
      count += lineEnds(chunk);
    }
    rows.set(table, count);
  };
