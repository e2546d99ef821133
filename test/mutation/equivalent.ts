/** Mutants that no test can find, by their name, with the reason. */
export const equivalentMutants: Readonly<Record<string, string>> = {
  'investments/cursor.ts | 25 → 26 | const payloadBytes = 25;':
    'The layout of a value that only this file writes and reads; one byte more stays zero.',
  "investments/filters.ts | person === undefined → false | if (person === undefined) throw notFound('The investor');":
    'Nobody is in no ledger, so the check after it throws the same 404; this one is for the type.',
  "investments/filters.ts | throw notFound('The investor'); → ; | if (person === undefined) throw notFound('The investor');":
    'As above.',
};
