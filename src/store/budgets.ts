import { type Instant, instantFromMillis, millisOf, parseInstant } from '../domain/instant.js';
import type { Connection } from './connection.js';

/** How much of a token's quota is used up. Times are milliseconds on the platform's clock. */
export interface SpentBudget {
  readonly windowStart: number;
  readonly spent: number;
  readonly blockedUntil: number | null;
  /** The count of the window that begins at a fixed time. Absent in rows of earlier versions. */
  readonly fixed?: { readonly windowStart: number; readonly spent: number } | null;
}

/** Stores budgets so that they survive a restart. `key` is a digest of the token, never the token itself. */
export class Budgets {
  constructor(protected readonly connection: Connection) {}

  async load(key: string): Promise<SpentBudget | null> {
    const row = await this.connection.run((db) =>
      db.selectFrom('budgets').selectAll().where('token', '=', key).executeTakeFirst(),
    );
    if (row === undefined) return null;
    return {
      windowStart: millis(row.window_start),
      spent: row.spent,
      blockedUntil: row.blocked_until === null ? null : millis(row.blocked_until),
      fixed:
        row.fixed_start == null || row.fixed_spent == null
          ? null
          : { windowStart: millis(row.fixed_start), spent: row.fixed_spent },
    };
  }

  async save(key: string, state: SpentBudget): Promise<void> {
    const change = rowOf(state);
    await this.connection.run((db) =>
      db
        .insertInto('budgets')
        .values({ token: key, ...change })
        .onConflict((conflict) => conflict.column('token').doUpdateSet(change))
        .execute(),
    );
  }

  /** Deletes budgets that ended before `before`. A sign-in has a new token, and so a new budget, after each refresh. */
  async purge(before: Instant): Promise<number> {
    const { numDeletedRows } = await this.connection.run((db) =>
      db
        .deleteFrom('budgets')
        .where('window_start', '<', before)
        .where(({ eb }) => eb.or([eb('fixed_start', 'is', null), eb('fixed_start', '<', before)]))
        .where(({ eb }) => eb.or([eb('blocked_until', 'is', null), eb('blocked_until', '<', before)]))
        .executeTakeFirstOrThrow(),
    );
    return Number(numDeletedRows);
  }
}

/**
 * For several hosts that share a key. `swap` is a compare-and-swap: it returns false when another host changed the row.
 */
export class SharedBudgets extends Budgets {
  async swap(key: string, before: SpentBudget | null, after: SpentBudget): Promise<boolean> {
    const row = rowOf(after);
    const moved = await this.connection.run((db) => {
      if (before === null)
        return db
          .insertInto('budgets')
          .values({ token: key, ...row })
          .onConflict((conflict) => conflict.column('token').doNothing())
          .executeTakeFirstOrThrow()
          .then(({ numInsertedOrUpdatedRows }) => numInsertedOrUpdatedRows);
      const { window_start, spent, blocked_until } = rowOf(before);
      return db
        .updateTable('budgets')
        .set(row)
        .where('token', '=', key)
        .where('window_start', '=', window_start)
        .where('spent', '=', spent)
        .where('blocked_until', 'is not distinct from', blocked_until)
        .executeTakeFirstOrThrow()
        .then(({ numUpdatedRows }) => numUpdatedRows);
    });
    return moved === 1n;
  }
}

function rowOf({ windowStart, spent, blockedUntil, fixed = null }: SpentBudget) {
  return {
    window_start: instantFromMillis(windowStart),
    spent,
    blocked_until: blockedUntil === null ? null : instantFromMillis(blockedUntil),
    fixed_start: fixed === null ? null : instantFromMillis(fixed.windowStart),
    fixed_spent: fixed?.spent ?? null,
  };
}

function millis(text: string): number {
  const instant = parseInstant(text);
  if (instant === undefined) throw new Error(`budgets holds "${text}", which is not a timestamp`);
  return millisOf(instant);
}
