/*
 * What a run needs, from the numbers of records and versions. Bytes on SQLite and processor time are what a run with 20,000
 * records took more than one with 2,000, for each record (results.md). Bytes on PostgreSQL are those of docs/fleet.md; its
 * time is taken to be that of SQLite.
 */

export const databases = ['sqlite', 'postgres'] as const;
export type Database = (typeof databases)[number];

export interface Amount {
  readonly records: number;
  readonly versions: number;
  readonly companies: number;
  readonly databases: readonly Database[];
  /** Steps that are left out, by their names. */
  readonly without?: readonly string[];
}

export interface Needs {
  readonly diskBytes: number;
  readonly memoryBytes: number;
  readonly seconds: number;
}

/** Bytes in the database of a record with its identity and indexes, and of a version with its change. */
const bytesOf = { sqlite: { record: 970, version: 620 }, postgres: { record: 1_115, version: 800 } } as const;

/** Processor seconds of all steps for a record with five versions. One thread does most of it. */
const secondsARecord = 400e-6;

/** A round figure for several processes; the largest took 0.2 GB. */
const memoryBytes = 1e9;

/** The step that copies the whole file twice. */
export const upgradeStep = 'upgrade';

/** The step that copies a SQLite file to PostgreSQL. */
export const migrateStep = 'migrate';

/** Room beside a database, in its sizes: its log and the sorting of an index, and with an upgrade two copies. */
const beside = { upgrade: 2, otherwise: 0.5 } as const;

/**
 * Returns the needs of the largest size. The two copies of an upgrade are the mirror of an older schema, and its backup before
 * the migration. A SQLite file from which PostgreSQL is filled stays meanwhile.
 */
export function needsOf({ records, versions, databases, without = [] }: Amount): Needs {
  const sized = (database: Database) =>
    records * bytesOf[database].record + versions * bytesOf[database].version;
  const steps = databases.map((database) =>
    database === 'sqlite'
      ? (1 + (without.includes(upgradeStep) ? beside.otherwise : beside.upgrade)) * sized('sqlite')
      : without.includes(migrateStep)
        ? (1 + beside.otherwise) * sized('postgres')
        : sized('sqlite') + 2 * sized('postgres'),
  );
  return {
    diskBytes: Math.max(...steps),
    memoryBytes,
    seconds: databases.length * records * secondsARecord,
  };
}

/** Returns why a run cannot start, in one sentence, or null. */
export function refusalOf(
  needs: Needs,
  freeBytes: number,
  folder: string,
  { databases, without = [] }: Pick<Amount, 'databases' | 'without'>,
): string | null {
  if (needs.diskBytes <= freeBytes) return null;
  const copies = databases.map((database) => (database === 'sqlite' ? upgradeStep : migrateStep));
  const steps = copies.filter((step) => !without.includes(step)).map((step) => ` --without ${step},`);
  return `${folder} has ${gigabytes(freeBytes)} free and this run needs ${gigabytes(needs.diskBytes)}; choose fewer --records or --versions, one --database,${steps.join('')} or another disk with --keep DIR`;
}

export function describeNeeds(amount: Amount, needs: Needs): string {
  const count = (value: number) => value.toLocaleString('en-US');
  const { records, versions, companies, databases } = amount;
  return (
    `${count(records)} investments of ${count(companies)} companies and ${count(versions)} versions on ${databases.join(' and ')}, ` +
    `and two smaller sizes before: needs about ${gigabytes(needs.diskBytes)} of disk, ${gigabytes(needs.memoryBytes)} of memory ` +
    `and ${Math.max(1, Math.round(needs.seconds / 60))} minutes on an idle processor`
  );
}

const gigabytes = (bytes: number): string => `${Math.max(0.1, bytes / 1e9).toFixed(1)} GB`;
