import type { DatabaseLocation } from '../database-location.js';
import type { DatabaseDialect } from './port.js';
import { postgresDialect } from './postgres/dialect.js';
import { sqliteDialect } from './sqlite/dialect.js';

/** The one location that asks which database a mirror is in. Loads no driver: see `DatabaseDialect`. */
export function dialectFor(location: DatabaseLocation): DatabaseDialect {
  return location.kind === 'sqlite' ? sqliteDialect(location) : postgresDialect(location);
}
