/** Returns the text of a statement with a list of `count` values, for `Ask`: `before ?, ?, … after`. */
export function withList(before: string, count: number, after: string): TemplateStringsArray {
  const parts = [before, ...Array.from({ length: Math.max(0, count - 1) }, () => ', '), after];
  return Object.assign(parts, { raw: parts });
}
