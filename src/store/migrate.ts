import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { schemaPath } from '../runtime/package-root.js';
import { fileShape } from './newest-migration.js';

/** One file of `schema/<database>/`, such as `0001_mirror.sql`. A released file never changes again. */
export interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** A migration as recorded in the database, with the version of rosterd that ran it. */
export interface AppliedMigration {
  readonly number: number;
  readonly name: string;
  readonly checksum: string;
  readonly version: string;
}

export interface MigrateOptions {
  readonly clock: Clock;
  /** Version of rosterd, recorded with each migration so that a later error can name it. */
  readonly version: string;
  readonly migrations?: readonly Migration[];
  /** Only report what would run. */
  readonly dryRun?: boolean;
}

function readMigrations(folder: string): readonly Migration[] {
  const migrations = readdirSync(folder)
    .sort()
    .flatMap((file) => {
      const match = fileShape.exec(file);
      if (match?.[1] === undefined || match[2] === undefined) return [];
      const sql = readFileSync(join(folder, file), 'utf8');
      const checksum = createHash('sha256').update(sql).digest('hex');
      return [{ number: Number(match[1]), name: match[2], sql, checksum }];
    });
  const gap = migrations.findIndex((migration, index) => migration.number !== index + 1);
  if (gap !== -1) throw new Error(`migrations in ${folder} are not numbered 1, 2, 3 …: look at ${gap + 1}`);
  return migrations;
}

/** Reads them once: a process that opens many mirrors, or whose package is replaced meanwhile, uses the same ones. */
export function shippedMigrations(database: 'sqlite' | 'postgres'): readonly Migration[] {
  const known = shipped.get(database) ?? readMigrations(schemaPath(database));
  shipped.set(database, known);
  return known;
}

const shipped = new Map<string, readonly Migration[]>();

/**
 * Returns the migrations that have not run yet. Throws `database_unusable` when a later version of rosterd migrated the
 * database, or when a migration that ran differs from the shipped file.
 */
export function pendingMigrations(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  for (const done of applied) {
    const migration = known[done.number - 1];
    if (migration === undefined)
      throw new Fault(
        'database_unusable',
        `the database has schema ${done.number} (${done.name}), written by rosterd ${done.version}; this version knows up to ${known.length}`,
        { hint: `Install rosterd ${done.version} or later, or restore the backup beside the file.` },
      );
    if (migration.checksum !== done.checksum)
      throw new Fault(
        'database_unusable',
        `migration ${done.number} (${done.name}) is dirty: rosterd ${done.version} ran a different text of it on this database`,
        {
          hint: `Use the files as rosterd ${done.version} shipped them; a released migration is never edited.`,
        },
      );
  }
  const numbers = new Set(applied.map((done) => done.number));
  return known.filter((migration) => !numbers.has(migration.number));
}

/** Returns the file name without its extension. */
export function labelOf({ number, name }: Migration): string {
  return `${fourDigits(number)}_${name}`;
}

export function fourDigits(number: number): string {
  return String(number).padStart(4, '0');
}

/** Returns the indexes that `indexes.sql` builds, in build order. */
export function shippedIndexes(
  database: 'sqlite' | 'postgres',
): readonly { readonly name: string; readonly sql: string }[] {
  const text = readFileSync(schemaPath(database, 'indexes.sql'), 'utf8');
  return [...text.matchAll(/^CREATE (?:UNIQUE )?INDEX IF NOT EXISTS (\w+) [^;]+;/gm)].map(
    ([sql, name = '']) => ({ name, sql }),
  );
}
