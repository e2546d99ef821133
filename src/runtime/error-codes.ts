/** Returns an error and what caused it. Something that is no error has none. */
export function causesOf(error: unknown): readonly Error[] {
  const all: Error[] = [];
  for (let at = error; at instanceof Error && all.length < 5; at = at.cause) all.push(at);
  return all;
}

/** Returns the first code such as ECONNREFUSED of an error and its causes. Their messages may quote an address. */
export const codeOf = (error: unknown): string | undefined =>
  causesOf(error)
    .map((one) => (one as { code?: unknown }).code)
    .find((code): code is string => typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code));
