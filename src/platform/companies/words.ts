/** Splits text into words for searching: lowercase and without accents. */
export function wordsIn(text: string): readonly string[] {
  return (
    text
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** Returns whether `words` occur consecutively in `text`. With `prefix`, the last word may match a prefix. */
export function contains(text: readonly string[], words: readonly string[], prefix = false): boolean {
  return text.some((_, start) =>
    words.every((word, offset) => {
      const found = text[start + offset];
      const last = offset === words.length - 1;
      return found !== undefined && (prefix && last ? found.startsWith(word) : found === word);
    }),
  );
}
