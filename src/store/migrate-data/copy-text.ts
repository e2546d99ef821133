/** As SQLite gives them when whole numbers are asked for as such. */
export type CopyValue = string | bigint | number | null;

/** The letters PostgreSQL writes for what would end a value or a line. */
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
 * A row as PostgreSQL's COPY reads it, and to the letter as COPY writes it: so both sides of a copy can be compared by
 * a digest over their lines, without either being held.
 */
export function copyLine(row: readonly CopyValue[]): string {
  return `${row.map(copyValue).join('\t')}\n`;
}

function copyValue(value: CopyValue): string {
  if (value === null) return '\\N';
  if (typeof value !== 'string') return value.toString();
  return value.replaceAll(/[\\\b\t\n\v\f\r]/g, (letter) => escapes[letter] ?? letter);
}

/** `[1,2]` of SQLite as `{1,2}` of PostgreSQL. */
export function numbersToArray(json: CopyValue): CopyValue {
  return typeof json === 'string' ? `{${json.slice(1, -1)}}` : json;
}
