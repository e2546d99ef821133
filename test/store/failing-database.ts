import type Sqlite from 'better-sqlite3';
import type { SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';

export interface FailingDatabase {
  readonly database: SqliteDatabase;
  /** The statement with this number from now on, counted from 1, throws instead of running. */
  failAt(number: number): void;
}

/** The real database behind a counter: every statement passes through it, BEGIN and COMMIT included. */
export function failingDatabase(real: SqliteDatabase): FailingDatabase {
  let left = Number.POSITIVE_INFINITY;
  const pass = () => {
    left -= 1;
    if (left === 0) throw new Error('injected failure');
  };
  const counted = (statement: Sqlite.Statement): Sqlite.Statement => {
    const proxy: Sqlite.Statement = new Proxy(statement, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        return (...values: unknown[]) => {
          if (property === 'run' || property === 'get' || property === 'all') pass();
          const result: unknown = value.apply(target, values);
          return result === target ? proxy : result;
        };
      },
    });
    return proxy;
  };
  const raw = new Proxy(real.raw, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return (...values: unknown[]) => {
        if (property === 'exec') pass();
        const result: unknown = value.apply(target, values);
        return property === 'prepare' ? counted(result as Sqlite.Statement) : result;
      };
    },
  });
  return {
    database: { ...real, raw },
    failAt: (number) => {
      left = number;
    },
  };
}
