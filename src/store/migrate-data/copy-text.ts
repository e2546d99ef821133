/** A value as SQLite returns it when integers are read as bigints. */
export type CopyValue = string | bigint | number | null;

/** The escape sequences of PostgreSQL's COPY text format. */
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
};

/**
 * Returns a row in the text format of PostgreSQL's COPY, byte for byte as COPY itself would write it. Both sides of the
 * copy can therefore be compared by a digest over their lines, without holding either in memory.
 */
export function copyLine(row: readonly CopyValue[]): string {
  return `${row.map(copyValue).join('\t')}\n`;
}

function copyValue(value: CopyValue): string {
  if (value === null) return '\\N';
  if (typeof value !== 'string') return value.toString();
  return value.replaceAll(/[\\\b\t\n\v\f\r]/g, (letter) => escapes[letter] ?? letter);
}

/** Converts a JSON array from SQLite, such as `[1,2]`, to a PostgreSQL array, `{1,2}`. */
export function numbersToArray(json: CopyValue): CopyValue {
  return typeof json === 'string' ? `{${json.slice(1, -1)}}` : json;
}
