import { readFileSync } from 'node:fs';
import pg from 'pg';
import { schemaPath } from '../../../runtime/package-root.js';
import type { PostgresDatabase } from './open.js';
import { vaultSchemaOf } from './schema-names.js';

type Schemas = Pick<PostgresDatabase, 'schema' | 'identitySchema'>;

/** Returns the schema of the vault, quoted. */
export function vaultSchemaSql(schema: string): string {
  return pg.escapeIdentifier(vaultSchemaOf(schema));
}

/** Replaces psql's variables with the schema names. The files of `schema/postgres` also run in psql. */
export function withSchemas(sql: string, { schema, identitySchema }: Schemas): string {
  return sql
    .replaceAll(':"schema"', pg.escapeIdentifier(schema))
    .replaceAll(':"identity"', pg.escapeIdentifier(identitySchema))
    .replaceAll(':"vault"', vaultSchemaSql(schema));
}

export function schemaSql(file: string, schemas: Schemas): string {
  return withSchemas(readFileSync(schemaPath('postgres', file), 'utf8'), schemas);
}
