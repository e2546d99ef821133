import { contentFields, type Identity, type Investment, identityFields } from '../domain/investment.js';

/** The columns of a version, in the one order in which statements name them and values are bound. */
export const recordColumns = [...contentFields, 'observed_at', 'reason'] as const;
export const identityColumns = identityFields;

/** Columns that hold truth as 1 and 0: of a record, and of its person. */
export const recordFlags = [
  'needs_whitelisting',
  'visible',
  'investor_deactivated',
  'via_entity',
] as const satisfies readonly (keyof Investment)[];
export const identityFlags = ['email_hidden'] as const satisfies readonly (keyof Identity)[];

/** Unknown fields are `extra` of a record and of its person: beside those of the record, a person's columns carry a prefix. */
export const ofPerson = <Column extends string>(column: Column) => `person_${column}` as const;

export type ColumnValue = string | number | null;

export function recordValues(investment: Investment): ColumnValue[] {
  return recordColumns.map((column) => stored(investment[column]));
}

/**
 * What to write of a version whose content differs from the one it replaces in these fields: naming one column more
 * would rewrite every index it stands in.
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
