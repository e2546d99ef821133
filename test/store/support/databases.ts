import { CompiledQuery } from 'kysely';
import { onTestFinished } from 'vitest';
import { type Connection, postgresConnection, sqliteConnection } from '../../../src/store/connection.js';
import type { DatabaseLocation } from '../../../src/store/database-location.js';
import type { PostgresDatabase } from '../../../src/store/dialect/postgres/open.js';
import type { SqliteDatabase } from '../../../src/store/dialect/sqlite/open.js';
import { type Inbox, postgresInbox, sqliteInbox } from '../../../src/store/inbox.js';
import { postgresStore } from '../postgres-store.js';
import { freshMirror } from './mirror.js';

export type Row = Readonly<Record<string, string | number | null>>;

/** A migrated mirror of either kind. Tests insert its rows directly. */
export interface WorkingMirror {
  readonly place: DatabaseLocation;
  readonly connection: Connection;
  readonly inbox: Inbox;
  insert(table: string, row: Row): Promise<void>;
  rows(sql: string): Promise<readonly Row[]>;
  /** Makes the insertion of this webhook fail; `whole` rolls back the whole transaction, as a full disk does. */
  refuseEvent(id: string, whole: boolean): Promise<void>;
}

interface Kind {
  readonly database: 'SQLite' | 'PostgreSQL';
  /**
   * The mirror is closed when the test finishes, or emptied for another test. So a test that changes the schema of a mirror
   * needs one of its own.
   */
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
      const opened = await postgresStore();
      return postgresMirror(opened, String(opened.pool.options.connectionString));
    },
  },
];

export const postgresMirror = (opened: PostgresDatabase, url: string): WorkingMirror =>
  working(
    { kind: 'postgres', url, password: null },
    postgresConnection(opened),
    postgresInbox(opened),
    // On PostgreSQL every failed statement fails its transaction.
    async (id) => {
      onTestFinished(async () => void (await opened.pool.query('DROP FUNCTION IF EXISTS refuse() CASCADE')));
      await opened.pool.query(
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`,
      );
      await opened.pool.query(
        `CREATE TRIGGER refuse BEFORE INSERT ON ${opened.identitySchema}.webhook_inbox
         FOR EACH ROW WHEN (NEW.event_id = '${id}') EXECUTE FUNCTION refuse()`,
      );
    },
  );

export const sqliteMirror = (mirror: SqliteDatabase): WorkingMirror =>
  working(
    { kind: 'sqlite', file: mirror.file },
    sqliteConnection(mirror),
    sqliteInbox(mirror),
    async (id, whole) => {
      mirror.raw.exec(
        `CREATE TEMP TRIGGER refuse BEFORE INSERT ON webhook_inbox WHEN NEW.event_id = '${id}'
         BEGIN SELECT RAISE(${whole ? 'ROLLBACK' : 'ABORT'}, 'refused'); END`,
      );
    },
  );

function working(
  place: DatabaseLocation,
  connection: Connection,
  inbox: Inbox,
  refuseEvent: WorkingMirror['refuseEvent'],
): WorkingMirror {
  return {
    place,
    connection,
    inbox,
    refuseEvent,
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
