import type { PostgresDatabase } from './open.js';
import { schemaSql } from './schema-sql.js';
import type { Transaction } from './transaction.js';

/** Group roles without login: what analysts may read without names, and with names. */
export const readerRoles = ['rosterd_analyst', 'rosterd_identity'] as const;

/** The last relation that `grants.sql` began to grant without a migration. A role that may not read it lacks grants. */
export const newestGrant = 'feed_counter';

/**
 * Creates the reader roles if this user may, and grants them their rights once both exist. Roles are shared by the whole
 * server: they may exist already, or an administrator may have to create them.
 */
export async function grantReaders(transaction: Transaction, database: PostgresDatabase): Promise<void> {
  await transaction.run(createRoles);
  if ((await missingRoles(transaction)).length === 0)
    await transaction.run(schemaSql('grants.sql', database));
}

/**
 * Grants the reader roles what `grants.sql` names if one of them lacks it. Roles may be created after the migrations, and
 * a version may grant more than the one before without a migration, for which a fleet would have to stop. A login that
 * does not own the mirror grants nothing; the doctor reports what is missing.
 */
export async function completeGrants(transaction: Transaction, database: PostgresDatabase): Promise<void> {
  const roles = await transaction.rows<{ granted: 0 | 1 }>(
    `SELECT coalesce(has_table_privilege(oid, to_regclass($2), 'SELECT'), true)::int AS granted
     FROM pg_roles WHERE rolname = ANY ($1)`,
    readerRoles,
    newestGrant,
  );
  if (roles.length < readerRoles.length || roles.every(({ granted }) => granted === 1)) return;
  await transaction.run(
    `DO $$ BEGIN ${schemaSql('grants.sql', database)} EXCEPTION WHEN insufficient_privilege THEN NULL; END $$`,
  );
}

async function missingRoles(transaction: Transaction): Promise<readonly string[]> {
  const rows = await transaction.rows<{ role: string }>(
    'SELECT role FROM unnest($1::text[]) AS role WHERE to_regrole(role) IS NULL',
    readerRoles,
  );
  return rows.map(({ role }) => role);
}

/** Ignores errors of concurrent creation: a migration of another database may create or grant the same role. */
const createRoles = `
  DO $$
  DECLARE wanted text;
  BEGIN
    IF NOT (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user) THEN RETURN; END IF;
    FOREACH wanted IN ARRAY ARRAY['${readerRoles.join("', '")}'] LOOP
      BEGIN
        IF to_regrole(wanted) IS NULL THEN EXECUTE format('CREATE ROLE %I NOLOGIN', wanted); END IF;
      EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
      END;
    END LOOP;
    -- A login without superuser rights needs this for the SQL box, which uses the role while names are masked.
    BEGIN
      IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT ${readerRoles[0]} TO %I', current_user);
      END IF;
    -- Not allowed to grant, or granted concurrently: the doctor reports what is missing.
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
  END $$`;
