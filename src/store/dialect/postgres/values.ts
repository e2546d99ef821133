import pg from 'pg';

const { builtins, getTypeParser } = pg.types;

/**
 * Parses values to what the same query returns on SQLite: a 64-bit integer or a sum of them is a number while that is
 * exact, a boolean is 1 or 0, and times and JSON stay text.
 */
const parsers: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [builtins.INT8, exactNumber],
  [builtins.NUMERIC, exactNumber],
  [builtins.BOOL, (text) => (text === 't' ? 1 : 0)],
  ...[builtins.DATE, builtins.TIME, builtins.TIMESTAMP, builtins.TIMESTAMPTZ, builtins.INTERVAL].map(asText),
  ...[builtins.JSON, builtins.JSONB].map(asText),
]);

/** For the `types` of a connection. */
export const valueTypes: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    (format === 'binary' ? undefined : parsers.get(oid)) ?? getTypeParser(oid, format),
};

function exactNumber(text: string): number | string {
  const number = Number(text);
  return Number.isSafeInteger(number) && /^-?\d+$/.test(text) ? number : text;
}

function asText(oid: number): [number, (text: string) => string] {
  return [oid, (text) => text];
}
