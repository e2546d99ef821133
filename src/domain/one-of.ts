const namesMax = 20;

/** Returns names for a message: at most twenty, and how many more there are. A mirror may have thousands of sources. */
export function fewOf(names: readonly string[]): string {
  const more = names.length - namesMax;
  return more > 0 ? `${names.slice(0, namesMax).join(', ')} and ${more} more` : names.join(', ');
}

/** Returns a hint with names that exist, or `none` when there are none. */
export const oneOf = (names: readonly string[], none: string): string =>
  names.length === 0 ? none : `one of: ${fewOf(names)}`;
