import type { Clock } from '../../src/runtime/clock.js';
import type { Migration } from '../../src/store/migrate.js';

export type Row = Readonly<Record<string, string | number | null>>;

/** The space that the mirror's tables and indexes take, and what the same content takes when it is written anew. */
export interface Size {
  readonly fileBytes: number;
  readonly contentBytes: number;
}

/** What the years ask of a database, from outside of the program. */
export interface Exam {
  /** The last migration of the version that wrote the mirror, and every migration of this one. */
  readonly migrations: { readonly first: number; readonly all: readonly Migration[] };
  /** As the configuration names it. */
  readonly database: string;
  /** Brings the schema to the last of `migrations`. Returns the number that ran. */
  upgrade(migrations: readonly Migration[], clock: Clock, version: string): Promise<number>;
  /** Returns the rows of a query. `values` replace its question marks. */
  rows(sql: string, ...values: readonly (string | number)[]): Promise<readonly Row[]>;
  /** How many statements this process has sent so far. */
  statements(): number;
  /** Does in a virtual day what the server does by itself in a real one. */
  daily(): Promise<void>;
  /** No connection of the program may be open. */
  size(): Promise<Size>;
  /** Every stored byte in which no erased person may be once a scrub has finished. */
  bytes(): Promise<string>;
  /** What the database's own checks find. */
  problems(): Promise<readonly string[]>;
  close(): Promise<void>;
}
