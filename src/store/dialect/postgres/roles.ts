import type { PostgresDatabase } from './open.js';
import { schemaSql } from './schema-sql.js';
import type { Transaction } from './transaction.js';

/** Group roles nobody logs in with: what an analyst may read without, and with, the people's names. */
export const readerRoles = ['rosterd_analyst', 'rosterd_identity'] as const;

/**
 * Creates the roles if this user may, and grants them what they are for. Roles belong to the whole server, so
 * they may be there already, or somebody with more rights has to make them: then `missingRoles` names them.
 */
export async function grantReaders(transaction: Transaction, database: PostgresDatabase): Promise<void> {
  await transaction.run(createRoles);
  if ((await missingRoles(transaction)).length === 0)
    await transaction.run(schemaSql('grants.sql', database));
}

async function missingRoles(transaction: Transaction): Promise<readonly string[]> {
  const rows = await transaction.rows<{ role: string }>(
    'SELECT role FROM unnest($1::text[]) AS role WHERE to_regrole(role) IS NULL',
    readerRoles,
  );
  return rows.map(({ role }) => role);
}

/** Another database of the server may create the same role at the same moment, or grant it. */
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
    -- A login that is no administrator needs it for the SQL box, which reads as that role while names are masked.
    BEGIN
      IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        EXECUTE format('GRANT ${readerRoles[0]} TO %I', current_user);
      END IF;
    -- Not its to grant, or granted by another at the same moment: the doctor tells what is missing.
    EXCEPTION WHEN OTHERS THEN NULL;
    END;
  END $$`;
