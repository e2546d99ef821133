import type { BudgetState } from './budget.js';

/**
 * Where budgets are remembered, so that a restart does not spend an hour's quota twice. `key` is a digest: it
 * identifies a token without being one. A failure to save is survived, the platform's own 429 is the backstop.
 */
export interface BudgetStore {
  load(key: string): Promise<BudgetState | null>;
  save(key: string, state: BudgetState): Promise<void>;
}
