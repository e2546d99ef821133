import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Clock } from '../../src/runtime/clock.js';
import { migrateSqlite } from '../../src/store/dialect/sqlite/migrate.js';
import { openSqlite } from '../../src/store/dialect/sqlite/open.js';
import { type Migration, shippedMigrations } from '../../src/store/migrate.js';
import { problemsIn } from '../upgrade/sqlite-crashes.js';
import { unpacked, type Written } from '../upgrade/written.js';
import type { Exam, Row, Size } from './exam.js';
import { countCalls } from './statement-count.js';

/** The file that a version wrote. */
export class SqliteExam implements Exam {
  readonly migrations;
  readonly database = 'sqlite:mirror.db';
  readonly #file: string;
  readonly #statements = countCalls(statementsOfSqlite(), ['run', 'get', 'all', 'iterate']);

  constructor(folder: string, from: Written) {
    this.migrations = { first: from.migrations.sqlite, all: shippedMigrations('sqlite') };
    this.#file = join(folder, 'mirror.db');
    writeFileSync(this.#file, unpacked(from.version, 'mirror.db'), { mode: 0o600 });
  }

  async upgrade(migrations: readonly Migration[], clock: Clock, version: string): Promise<number> {
    const database = openSqlite(this.#file);
    try {
      return migrateSqlite(database, { clock, version, migrations }).ran.length;
    } finally {
      database.close();
    }
  }

  async rows(sql: string, ...values: readonly (string | number)[]): Promise<readonly Row[]> {
    return this.#with({ readonly: true }, (raw) => raw.prepare<unknown[], Row>(sql).all(...values));
  }

  statements(): number {
    return this.#statements.count();
  }

  /** Nothing works on the file but the program. */
  async daily(): Promise<void> {}

  async size(): Promise<Size> {
    const copy = `${this.#file}.measured`;
    rmSync(copy, { force: true });
    this.#with({}, (raw) => {
      raw.pragma('wal_checkpoint(TRUNCATE)');
      raw.prepare('VACUUM INTO ?').run(copy);
    });
    const size = { fileBytes: statSync(this.#file).size, contentBytes: statSync(copy).size };
    rmSync(copy);
    return size;
  }

  async bytes(): Promise<string> {
    return ['', '-wal']
      .map((end) => this.#file + end)
      .map((file) => (existsSync(file) ? readFileSync(file).toString('latin1') : ''))
      .join('');
  }

  async problems(): Promise<readonly string[]> {
    return this.#with({}, problemsIn);
  }

  async close(): Promise<void> {
    this.#statements.stop();
  }

  #with<Result>(options: Sqlite.Options, work: (raw: Sqlite.Database) => Result): Result {
    const raw = new Sqlite(this.#file, options);
    try {
      return work(raw);
    } finally {
      raw.close();
    }
  }
}

/** Returns what all prepared statements inherit from. */
function statementsOfSqlite(): object {
  const memory = new Sqlite(':memory:');
  const statement: object = Object.getPrototypeOf(memory.prepare('SELECT 1'));
  memory.close();
  return statement;
}
