import type { BudgetState } from './budget.js';

/**
 * Where budgets are remembered, so that a restart does not spend an hour's quota twice. `key` is a digest: it
 * identifies a token without being one. A failure to save is survived, the platform's own 429 is the backstop.
 */
export interface BudgetStore {
  load(key: string): Promise<BudgetState | null>;
  save(key: string, state: BudgetState): Promise<void>;
  /**
   * Where several processes count under one key: `after` takes the place of `before`, in one statement. False when it
   * is not `before` that stands there, because somebody else counted meanwhile.
   */
  readonly swap?: (key: string, before: BudgetState | null, after: BudgetState) => Promise<boolean>;
}
