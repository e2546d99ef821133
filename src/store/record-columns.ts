import { contentFields, type Identity, type Investment, identityFields } from '../domain/investment.js';

/** The columns of a version, in the one order in which statements name them and values are bound. */
export const recordColumns = [...contentFields, 'observed_at', 'reason'] as const;
export const identityColumns = identityFields;

export type ColumnValue = string | number | null;

export function recordValues(investment: Investment): ColumnValue[] {
  return recordColumns.map((column) => stored(investment[column]));
}

export function identityValues(identity: Identity): ColumnValue[] {
  return identityColumns.map((column) => stored(identity[column]));
}

export function stored(value: string | number | boolean | null): ColumnValue {
  return typeof value === 'boolean' ? Number(value) : value;
}
