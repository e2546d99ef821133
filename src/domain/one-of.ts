/** Returns a hint with the names that exist, or `none` when there are none. */
export const oneOf = (names: readonly string[], none: string): string =>
  names.length === 0 ? none : `one of: ${names.join(', ')}`;
