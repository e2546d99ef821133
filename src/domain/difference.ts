import { contentFields, type Identity, type Investment, identityFields } from './investment.js';

/** A record as one side of a comparison has it. */
export interface Version {
  readonly investment: Investment;
  readonly identity: Identity | null;
}

export interface Difference {
  /** Names only: columns of the record, and `identity.name` and the like. */
  readonly fields: readonly string[];
  readonly identityDiffers: boolean;
}

/** What differs in what a record is; how it came to be published (`observed_at`, `reason`) does not count. */
export function differenceOf(held: Version, other: Version): Difference | null {
  const content = contentFields.filter((field) => held.investment[field] !== other.investment[field]);
  const person = identityFields.filter(
    (field) => identityValue(held.identity, field) !== identityValue(other.identity, field),
  );
  const identityDiffers = person.length > 0 || (held.identity === null) !== (other.identity === null);
  if (content.length === 0 && !identityDiffers) return null;
  return { fields: [...content, ...person.map((field) => `identity.${field}`)], identityDiffers };
}

function identityValue(identity: Identity | null, field: keyof Identity): string | boolean | null {
  if (identity !== null) return identity[field];
  return field === 'email_hidden' ? false : null;
}
