/**
 * What this folder uses of Kysely, apart from types. Node takes several times as long to load the 255 files of Kysely as
 * one, so the build puts them into this one.
 */
export {
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  SqliteAdapter,
  SqliteDialect,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely';
