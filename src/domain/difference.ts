import { contentFields, type Identity, type Investment, identityFields } from './investment.js';

/** A record as seen by one side of a comparison. */
export interface Version {
  readonly investment: Investment;
  readonly identity: Identity | null;
}

export interface Difference {
  /** Names only: columns of the record, and names such as `identity.name`. */
  readonly fields: readonly string[];
  readonly identityDiffers: boolean;
}

/** How a version was published. Two versions that differ only in these have equal content. */
export type Publication = 'observed_at' | 'reason';

type Value = string | number | boolean | null;

/** The value compared for a field of the person that a version without identity lacks. */
const absentPerson = (field: keyof Identity): false | null => (field === 'email_hidden' ? false : null);

/** The compared fields in the order of `comparedValues`; null stands for whether there is an identity at all. */
const comparedFields: readonly (string | null)[] = [
  ...contentFields,
  null,
  ...identityFields.map((field) => `identity.${field}`),
];
const identityFrom = contentFields.length;

/**
 * Returns the values by which two versions are compared. How a version was published (`observed_at`, `reason`) does
 * not count.
 */
export function comparedValues({ investment, identity }: Version): readonly Value[] {
  const values: Value[] = [];
  for (const field of contentFields) values.push(investment[field]);
  values.push(identity !== null);
  for (const field of identityFields) values.push(identity === null ? absentPerson(field) : identity[field]);
  return values;
}

/** Returns whether two versions differ. `stored` may be columns as a database returns them: flags are 1 and 0. */
export function differs(stored: readonly Value[], other: readonly Value[]): boolean {
  return other.some((value, at) => !isSame(stored[at], value));
}

/** Returns the differing fields, or null when the records are equal. */
export function differenceOf(stored: Version, other: Version): Difference | null {
  const before = comparedValues(stored);
  const fields: string[] = [];
  let identityDiffers = false;
  let any = false;
  for (const [at, value] of comparedValues(other).entries()) {
    if (isSame(before[at], value)) continue;
    any = true;
    identityDiffers ||= at >= identityFrom;
    const field = comparedFields[at];
    if (field != null) fields.push(field);
  }
  return any ? { fields, identityDiffers } : null;
}

/**
 * Returns the names of `observed_at` and `reason` that differ, for two versions with equal content. Only the change feed
 * gives reasons, so a version without one says nothing about it.
 */
export function publicationDifference(stored: Investment, other: Investment): readonly Publication[] {
  const differing: Publication[] = [];
  if (stored.observed_at !== other.observed_at) differing.push('observed_at');
  if (stored.reason !== null && other.reason !== null && stored.reason !== other.reason)
    differing.push('reason');
  return differing;
}

function isSame(stored: Value | undefined, value: Value): boolean {
  return stored === value || (typeof value === 'boolean' && stored === Number(value));
}
