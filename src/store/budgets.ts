import { instantFromMillis, millisOf, parseInstant } from '../domain/instant.js';
import type { Connection } from './connection.js';

/** What was spent of a token's quota, in milliseconds on the platform's clock. */
export interface SpentBudget {
  readonly windowStart: number;
  readonly spent: number;
  readonly blockedUntil: number | null;
}

/** Remembers budgets over a restart. `key` is a digest of the token: it tells tokens apart and is none. */
export class Budgets {
  constructor(private readonly connection: Connection) {}

  async load(key: string): Promise<SpentBudget | null> {
    const row = await this.connection.run((db) =>
      db.selectFrom('budgets').selectAll().where('token', '=', key).executeTakeFirst(),
    );
    if (row === undefined) return null;
    return {
      windowStart: millis(row.window_start),
      spent: row.spent,
      blockedUntil: row.blocked_until === null ? null : millis(row.blocked_until),
    };
  }

  async save(key: string, state: SpentBudget): Promise<void> {
    const change = {
      window_start: instantFromMillis(state.windowStart),
      spent: state.spent,
      blocked_until: state.blockedUntil === null ? null : instantFromMillis(state.blockedUntil),
    };
    await this.connection.run((db) =>
      db
        .insertInto('budgets')
        .values({ token: key, ...change })
        .onConflict((conflict) => conflict.column('token').doUpdateSet(change))
        .execute(),
    );
  }
}

function millis(text: string): number {
  const instant = parseInstant(text);
  if (instant === undefined) throw new Error(`budgets holds "${text}", which is not a time`);
  return millisOf(instant);
}
