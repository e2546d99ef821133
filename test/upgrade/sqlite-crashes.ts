import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import type { SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';
import { statementsOf } from './statements.js';

/**
 * Returns the database with a crash point after every statement that changes it, also inside a text of many statements
 * and inside a transaction. `onPoint` is called at each: a copy of the files made there is what a kill would leave.
 */
export function withCrashPoints(database: SqliteDatabase, onPoint: () => void): SqliteDatabase {
  const { raw } = database;
  raw.function('crash_point', () => {
    onPoint();
    return null;
  });
  const exec = (sql: string) => {
    const statements = statementsOf(sql);
    raw.exec(statements.length < 2 ? sql : statements.join('SELECT crash_point();'));
    onPoint();
    return raw;
  };
  const prepare = (sql: string) => {
    const statement = raw.prepare(sql);
    if (statement.reader) return statement;
    return new Proxy(statement, {
      get: (target, name) => {
        const member = Reflect.get(target, name, target) as unknown;
        if (typeof member !== 'function') return member;
        return (...values: unknown[]) => {
          const result = member.apply(target, values) as unknown;
          if (name === 'run') onPoint();
          return result;
        };
      },
    });
  };
  const watched = new Proxy(raw, {
    get: (target, name) => {
      if (name === 'exec') return exec;
      if (name === 'prepare') return prepare;
      const member = Reflect.get(target, name, target) as unknown;
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  return { ...database, raw: watched };
}

/** Returns a digest of the files of a database as they are on the disk at this moment. */
export function bytesOf(file: string): string {
  const digest = createHash('sha256');
  for (const end of ['', '-wal']) if (existsSync(file + end)) digest.update(readFileSync(file + end));
  return digest.digest('hex');
}

/** Copies the files of a database as they are on the disk at this moment. */
export function copyFiles(from: string, to: string): void {
  for (const end of ['', '-wal', '-shm']) {
    rmSync(to + end, { force: true });
    if (end !== '-shm' && existsSync(from + end)) copyFileSync(from + end, to + end);
  }
}

/** Returns the schema and every row of a database, as a list that can be compared. */
export function dumpOf(file: string): readonly string[] {
  const raw = new Sqlite(file);
  try {
    const schema = raw
      .prepare<[], { name: string; type: string; sql: string }>(
        'SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name',
      )
      .all();
    const rows = schema
      .filter(({ type }) => type === 'table')
      .flatMap(({ name }) =>
        raw
          .prepare(`SELECT * FROM "${name}"`)
          .raw()
          .all()
          .map(
            (row) =>
              `${name} ${JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? `${value}` : value))}`,
          )
          .sort(),
      );
    return [...schema.map(({ sql }) => sql), ...rows, ...problemsIn(raw)];
  } finally {
    raw.close();
  }
}

/** Returns what SQLite's own checks find. */
export function problemsIn(raw: Sqlite.Database): readonly string[] {
  const integrity = raw.pragma('integrity_check', { simple: true });
  const keys = raw.pragma('foreign_key_check') as unknown[];
  return [
    ...(integrity === 'ok' ? [] : [`integrity_check: ${integrity}`]),
    ...keys.map((key) => `foreign_key_check: ${JSON.stringify(key)}`),
  ];
}
