import type { RelationEntry } from './column.js';
import { dimensionRelations } from './dimension-relations.js';
import { investmentRelations } from './investment-relations.js';
import { operatingRelations } from './operating-relations.js';

/** The public tables and views. Columns are in the order of the table or view. */
export const publicRelations: readonly RelationEntry[] = [
  ...investmentRelations,
  ...dimensionRelations,
  ...operatingRelations,
];
