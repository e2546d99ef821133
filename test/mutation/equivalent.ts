/** Mutants that no test can find, by their name, with the reason. */
export const equivalentMutants: Readonly<Record<string, string>> = {};
