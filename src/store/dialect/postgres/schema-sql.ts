import { readFileSync } from 'node:fs';
import pg from 'pg';
import { schemaPath } from '../../../runtime/package-root.js';
import type { PostgresDatabase } from './open.js';

type Schemas = Pick<PostgresDatabase, 'schema' | 'identitySchema'>;

/** The files of `schema/postgres` name the two schemas as psql's variables, so that psql runs them as well. */
export function withSchemas(sql: string, { schema, identitySchema }: Schemas): string {
  return sql
    .replaceAll(':"schema"', pg.escapeIdentifier(schema))
    .replaceAll(':"identity"', pg.escapeIdentifier(identitySchema));
}

export function schemaSql(file: string, schemas: Schemas): string {
  return withSchemas(readFileSync(schemaPath('postgres', file), 'utf8'), schemas);
}
