import type Sqlite from 'better-sqlite3';
import type pg from 'pg';
import type { PostgresDatabase } from '../../src/store/dialect/postgres/open.js';
import type { SqliteDatabase } from '../../src/store/dialect/sqlite/open.js';

import type { Store } from './mirror-fixture.js';

export interface FailingDatabase {
  readonly database: SqliteDatabase;
  /** The statement with this number from now on, counted from 1, throws instead of running. */
  failAt(number: number): void;
}

/** Either database so that one of its statements fails. */
export function failingStore(real: Store): { readonly store: Store; failAt(number: number): void } {
  if (real.kind === 'sqlite') {
    const { database, failAt } = failingDatabase(real.sqlite);
    return { store: { kind: 'sqlite', sqlite: database }, failAt };
  }
  const { database, failAt } = failingPool(real.postgres);
  return { store: { kind: 'postgres', postgres: database }, failAt };
}

/** The real server behind a counter: every statement of a transaction passes through it, BEGIN and COMMIT included. */
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
        // A setting of the connection touches no page, so no disk and no other program can make it fail.
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
