import { readFileSync } from 'node:fs';
import pg from 'pg';
import { schemaPath } from '../../../runtime/package-root.js';
import type { PostgresDatabase } from './open.js';

type Schemas = Pick<PostgresDatabase, 'schema' | 'identitySchema'>;

/** Replaces psql's variables with the two schema names. The files of `schema/postgres` also run in psql. */
export function withSchemas(sql: string, { schema, identitySchema }: Schemas): string {
  return sql
    .replaceAll(':"schema"', pg.escapeIdentifier(schema))
    .replaceAll(':"identity"', pg.escapeIdentifier(identitySchema));
}

export function schemaSql(file: string, schemas: Schemas): string {
  return withSchemas(readFileSync(schemaPath('postgres', file), 'utf8'), schemas);
}
