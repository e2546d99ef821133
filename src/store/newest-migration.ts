import { readdirSync } from 'node:fs';
import { schemaPath } from '../runtime/package-root.js';

/** The number and name of a migration's file. */
export const fileShape = /^(\d{4})_([a-z0-9_]+)\.sql$/;

/** Returns the number of the newest migration that this version knows. Reads no migration: every command needs it. */
export function newestMigration(database: 'sqlite' | 'postgres'): number {
  return readdirSync(schemaPath(database)).filter((file) => fileShape.test(file)).length;
}
