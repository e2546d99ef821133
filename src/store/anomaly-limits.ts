/*
 * What a broken or hostile platform may make the mirror keep beside its records. Beyond these limits entries are
 * counted and not kept, so that what was seen is told and the disk is not filled.
 */

/** Open entries of one source. Each may have 64 KB, so that all of them fit into 640 MB at the very worst. */
export const quarantineMax = 10_000;

/** In place of a digest, on the row that counts what a full quarantine did not keep. */
export const uncountedDigest = 'more';
export const uncountedProblem = `more records could not be read; beyond ${quarantineMax} they are counted here and not kept`;

/** Names of unknown fields of one source. The platform adds a few a year. */
export const driftFieldsMax = 500;

/** Stands for every name beyond those. */
export const moreFields = '(more fields)';

const fieldLengthMax = 200;

export function cutField(field: string): string {
  return field.length <= fieldLengthMax ? field : `${field.slice(0, fieldLengthMax)}…`;
}

/** Puts names beyond the limit under `moreFields`; those known already are always counted by themselves. */
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
