import { contentFields, type Identity, type Investment, identityFields } from '../domain/investment.js';

/** The columns of a version, in the order that all statements and bound values use. */
export const recordColumns = [...contentFields, 'observed_at', 'reason'] as const;
export const identityColumns = identityFields;

/** Columns that store a boolean as 1 or 0: of a record, and of its person. */
export const recordFlags = [
  'needs_whitelisting',
  'visible',
  'investor_deactivated',
  'via_entity',
] as const satisfies readonly (keyof Investment)[];
export const identityFlags = ['email_hidden'] as const satisfies readonly (keyof Identity)[];

/** Prefixes a person's column for a row that also has the record's columns, since both have `extra`. */
export const ofPerson = <Column extends string>(column: Column) => `person_${column}` as const;

export type ColumnValue = string | number | null;

export function recordValues(investment: Investment): ColumnValue[] {
  return recordColumns.map((column) => stored(investment[column]));
}

/**
 * Returns the columns to write when these fields changed. Unchanged columns are left out, because writing one would
 * rewrite every index that contains it.
 */
export function columnsToWrite(changed: ReadonlySet<string>): readonly (typeof recordColumns)[number][] {
  return recordColumns.filter((name) => name === 'observed_at' || name === 'reason' || changed.has(name));
}

export function identityValues(identity: Identity): ColumnValue[] {
  return identityColumns.map((column) => stored(identity[column]));
}

export function stored(value: string | number | boolean | null): ColumnValue {
  return typeof value === 'boolean' ? Number(value) : value;
}
