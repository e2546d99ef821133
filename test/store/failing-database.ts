import type Sqlite from 'better-sqlite3';
import type pg from 'pg';
import type { PostgresDatabase } from '../../src/store/dialect/postgres/open.js';
import type { SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';

import type { Store } from './mirror-fixture.js';

export interface FailingDatabase {
  readonly database: SqliteDatabase;
  /** Makes the statement with this number throw instead of running. Counting starts at 1 with the next statement. */
  failAt(number: number): void;
}

/** Wraps either database so that one of its statements fails. */
export function failingStore(real: Store): { readonly store: Store; failAt(number: number): void } {
  if (real.kind === 'sqlite') {
    const { database, failAt } = failingDatabase(real.sqlite);
    return { store: { kind: 'sqlite', sqlite: database }, failAt };
  }
  const { database, failAt } = failingPool(real.postgres);
  return { store: { kind: 'postgres', postgres: database }, failAt };
}

/** Wraps the real pool with a counter for every statement of a transaction, including BEGIN and COMMIT. */
function failingPool(real: PostgresDatabase): {
  readonly database: PostgresDatabase;
  failAt(number: number): void;
} {
  let left = Number.POSITIVE_INFINITY;
  const counted = (client: pg.PoolClient): pg.PoolClient =>
    new Proxy(client, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        return (...values: unknown[]) => {
          if (property === 'query') {
            left -= 1;
            if (left === 0) return Promise.reject(new Error('injected failure'));
          }
          return value.apply(target, values);
        };
      },
    });
  const pool = new Proxy(real.pool, {
    get(target, property) {
      if (property === 'connect') return async () => counted(await target.connect());
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return {
    database: { ...real, pool },
    failAt: (number) => {
      left = number;
    },
  };
}

/** Wraps the real database with a counter for every statement, including BEGIN and COMMIT. */
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
        // A PRAGMA touches no page, so neither a full disk nor another program can make it fail.
        if (property === 'exec' && !String(values[0]).startsWith('PRAGMA')) pass();
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
