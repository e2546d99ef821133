/** Returns the statement with `$1`, `$2` … for each `?`. No text in the statement may have a question mark. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll('?', () => {
    count += 1;
    return `$${count}`;
  });
}
