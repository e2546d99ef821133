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

/**
 * Returns the differing fields, or null when the records are equal. How a version was published (`observed_at`,
 * `reason`) does not count.
 */
export function differenceOf(stored: Version, other: Version): Difference | null {
  const content = contentFields.filter((field) => stored.investment[field] !== other.investment[field]);
  const person = identityFields.filter(
    (field) => identityValue(stored.identity, field) !== identityValue(other.identity, field),
  );
  const identityDiffers = person.length > 0 || (stored.identity === null) !== (other.identity === null);
  if (content.length === 0 && !identityDiffers) return null;
  return { fields: [...content, ...person.map((field) => `identity.${field}`)], identityDiffers };
}

function identityValue(identity: Identity | null, field: keyof Identity): string | boolean | null {
  if (identity !== null) return identity[field];
  return field === 'email_hidden' ? false : null;
}
