import type { StoredBudget } from './budget.js';

/**
 * Stores budgets, so that a restart does not spend an hour's quota twice. `key` is a digest: it identifies a token
 * without revealing it. A failed save is tolerated; the platform's own 429 is the backstop.
 */
export interface BudgetStore {
  load(key: string): Promise<StoredBudget | null>;
  save(key: string, state: StoredBudget): Promise<void>;
  /**
   * Compare-and-swap, for a budget shared by several processes: replaces `before` by `after` in one statement.
   * Returns false when the stored state is not `before`, because another process changed it.
   */
  readonly swap?: (key: string, before: StoredBudget | null, after: StoredBudget) => Promise<boolean>;
}
