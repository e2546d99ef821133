export { type QueryHandle, type QueryLimits, runQuery } from '../store/reads/query.js';
export type { SqlValue } from '../store/reads/query-messages.js';
