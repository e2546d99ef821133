import type { MirrorPlace } from '../database-location.js';
import type { DatabaseDialect } from './port.js';
import { postgresDialect } from './postgres/dialect.js';
import { sqliteDialect } from './sqlite/dialect.js';

/** The one place that asks which database a mirror is in. Loads no driver: see `DatabaseDialect`. */
export function dialectFor(place: MirrorPlace): DatabaseDialect {
  return place.kind === 'sqlite' ? sqliteDialect(place) : postgresDialect(place);
}
