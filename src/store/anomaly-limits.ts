/*
 * Limits on what a broken or hostile platform can make the mirror store beside its records. Entries beyond a limit are
 * counted but not stored: the count stays visible and the disk does not fill up.
 */

/** Maximum number of open quarantine entries per source. A stored body has at most 64 KB (`cappedBody`). */
export const quarantineMax = 10_000;

/** Replaces the digest on the row that counts the entries a full quarantine did not store. */
export const uncountedDigest = 'more';
/**
 * Replaces it when a listing begins, which counts them again in another row. The publication of the listing resolves this
 * row: otherwise each listing would add the same entries once more.
 */
export const countedBeforeDigest = 'before';
export const uncountedProblem = `more records could not be read; beyond ${quarantineMax} they are counted here and not kept`;

/** Maximum number of unknown field names stored per source. The platform adds a few a year. */
export const driftFieldsMax = 500;

/** Counts every name beyond the limit. */
export const moreFields = '(more fields)';

const fieldLengthMax = 200;

export function cutField(field: string): string {
  return field.length <= fieldLengthMax ? field : `${field.slice(0, fieldLengthMax)}…`;
}

/**
 * Returns the counts with names beyond the limit added up under `moreFields`. Names already in `known` keep their own
 * count.
 */
export function boundedDrift(
  found: ReadonlyMap<string, number>,
  known: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  const counted = new Map<string, number>();
  let room = driftFieldsMax - known.size + (known.has(moreFields) ? 1 : 0);
  for (const [field, times] of found) {
    const fits = known.has(field) || room > 0;
    if (fits && !known.has(field)) room -= 1;
    const name = fits ? field : moreFields;
    counted.set(name, (counted.get(name) ?? 0) + times);
  }
  return counted;
}
