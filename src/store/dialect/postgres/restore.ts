import { defined } from '../../../domain/defined.js';
import { Fault, type FaultCode, isFault } from '../../../domain/fault.js';
import {
  type Restored,
  type RestoreHooks,
  type RestoreParts,
  rowsIn,
  type TableProof,
} from '../../backup/made.js';
import { type PostgresLocation, secretUrlOf } from '../../database-location.js';
import { pendingMigrations, shippedMigrations } from '../../migrate.js';
import { namingHolders } from './lock-holders.js';
import { appliedMigrations, migratePostgres } from './migrate.js';
import { openPostgres, type PostgresDatabase } from './open.js';
import { type Backup, openBackup } from './open-backup.js';
import { replaceRows } from './replace-rows.js';

/**
 * Restores a backup into an empty database, or with `force` in place of its mirror. The file is read and verified first;
 * one transaction then replaces every row and erases who must stay forgotten. It commits only if the server returns as many
 * rows as the file contains, and, for an archive, rows with the same digests. Throws `usage` for an existing mirror
 * without `force`, `lease_lost` while a daemon uses it, and `database_unusable` for a damaged backup or one of another
 * schema than the existing mirror.
 */
export async function restorePostgres(
  file: string,
  place: PostgresLocation,
  parts: RestoreParts,
  hooks: RestoreHooks,
): Promise<Restored> {
  const backup = await openBackup(file, parts);
  const url = await secretUrlOf(place);
  const database = await openPostgres(url, { max: 2 });
  try {
    const tables = await replaced(database, url, backup, parts, hooks);
    await prepared(hooks);
    return {
      format: backup.format,
      made_at: backup.madeAt,
      schema: backup.schema,
      rows: rowsIn(tables),
      proven: backup.digests !== null,
      moved_aside: null,
    };
  } finally {
    await database.close();
  }
}

/** Creates the tables of the backup's schema, or checks that the existing ones are of that schema. */
async function makeSchema(
  database: PostgresDatabase,
  { migrations, schema }: Backup,
  { clock, version }: RestoreParts,
): Promise<void> {
  const known = shippedMigrations('postgres');
  // Throws for a schema that this version does not know, or knows with another text.
  const later = pendingMigrations(known, migrations);
  const present = (await appliedMigrations(database)).length;
  if (present === 0) {
    const upTo = known.filter((migration) => !later.includes(migration));
    await migratePostgres(database, {
      clock,
      version,
      // Without a list, the roles of analysts get their rights too.
      ...(later.length === 0 ? {} : { migrations: upTo }),
    });
    return;
  }
  if (present !== schema)
    throw new Fault(
      'database_unusable',
      `${database.url} holds a mirror of schema ${present}, and the backup is of schema ${schema}`,
      { hint: 'Restore it into an empty database: createdb NAME, then set "database" to it.' },
    );
}

/** The hints of these faults are about a daemon, which tries again by itself. */
async function replaced(
  database: PostgresDatabase,
  url: string,
  backup: Backup,
  parts: RestoreParts,
  hooks: RestoreHooks,
): Promise<readonly TableProof[]> {
  try {
    await makeSchema(database, backup, parts);
    return await replaceRows(database, url, backup, parts, hooks);
  } catch (error) {
    if (isFault(error, 'database_full'))
      throw new Fault('database_full', error.message, {
        hint: 'Free space on the server, then run this again; nothing was replaced.',
        cause: error,
      });
    if (!isFault(error, 'database_busy') || error.about.lasting === true) throw error;
    const named = await namingHolders(database, error, 'Nothing was replaced.');
    if (named !== error) throw named;
    throw new Fault('database_busy', error.message, {
      hint: 'Nothing was replaced, unless the connection broke in the last step: rosterd status shows it. Run this again.',
      cause: error,
    });
  }
}

async function prepared({ prepare }: RestoreHooks): Promise<void> {
  try {
    await prepare(null);
  } catch (error) {
    if (!isFault(error)) throw error;
    const hint = afterwards[error.code] ?? error.about.hint;
    throw new Fault(error.code, `the backup is restored, but ${error.message}`, {
      ...defined({ hint }),
      cause: error,
    });
  }
}

const finishes =
  'Start rosterd, or run this again with --force: either finishes the erasure of what was erased since the backup.';

const afterwards: Partial<Record<FaultCode, string>> = {
  database_busy: finishes,
  lease_lost: finishes,
  database_full: `Free space on the server. ${finishes}`,
};
