import { CompiledQuery } from 'kysely';
import { onTestFinished } from 'vitest';
import { type Connection, postgresConnection, sqliteConnection } from '../../../src/store/connection.js';
import type { MirrorPlace } from '../../../src/store/database-location.js';
import { openPostgres, type PostgresDatabase } from '../../../src/store/dialect/postgres/open.js';
import type { SqliteDatabase } from '../../../src/store/dialect/sqlite/open.js';
import { migratedDatabase } from '../../postgres/fresh-database.js';
import { freshMirror } from './mirror.js';

export type Row = Readonly<Record<string, string | number | null>>;

/** A migrated mirror of either kind. Tests insert its rows directly. */
export interface WorkingMirror {
  readonly place: MirrorPlace;
  readonly connection: Connection;
  insert(table: string, row: Row): Promise<void>;
  rows(sql: string): Promise<readonly Row[]>;
}

interface Kind {
  readonly database: 'SQLite' | 'PostgreSQL';
  /** The mirror is closed when the test finishes. */
  open(): Promise<WorkingMirror>;
}

/** For `describe.each`: runs the same tests on both databases. */
export const databases: readonly Kind[] = [
  {
    database: 'SQLite',
    async open() {
      const mirror = freshMirror();
      return sqliteMirror(mirror);
    },
  },
  {
    database: 'PostgreSQL',
    async open() {
      const { url } = await migratedDatabase();
      const opened = await openPostgres(url);
      onTestFinished(() => opened.close());
      return postgresMirror(opened, url);
    },
  },
];

export const postgresMirror = (opened: PostgresDatabase, url: string): WorkingMirror =>
  working({ kind: 'postgres', url, password: null }, postgresConnection(opened));

export const sqliteMirror = (mirror: SqliteDatabase): WorkingMirror =>
  working({ kind: 'sqlite', file: mirror.file }, sqliteConnection(mirror));

function working(place: MirrorPlace, connection: Connection): WorkingMirror {
  return {
    place,
    connection,
    insert: async (table, row) => {
      await connection.run((db) =>
        db
          .insertInto(table as 'sources')
          .values(row as never)
          .execute(),
      );
    },
    rows: async (sql) => {
      const { rows } = await connection.run((db) => db.executeQuery(CompiledQuery.raw(sql)));
      return rows as Row[];
    },
  };
}

/** Like `seedSource` of the SQLite fixture. */
export const sourceRow = (no: number, set: Row = {}): Row => ({
  no,
  name: `source${no}`,
  fingerprint: 'f',
  state: 'following',
  cursor: 'c_1',
  cursor_saved_at: '2026-10-20T11:59:00.000Z',
  published_through: '2026-10-20T11:59:00.000Z',
  listed_at: '2026-10-01T00:00:00.000Z',
  listed_seq: 1,
  ...set,
});
