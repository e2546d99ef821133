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

/** Returns whether `words` occur consecutively in `text`. */
export function contains(text: readonly string[], words: readonly string[]): boolean {
  return occurs(text, words, (found, word) => found === word);
}

/** Returns whether `words` occur consecutively in `text`, the last of them perhaps only as the beginning of a word. */
export function containsBeginning(text: readonly string[], words: readonly string[]): boolean {
  return occurs(text, words, (found, word) => found.startsWith(word));
}

function occurs(
  text: readonly string[],
  words: readonly string[],
  isLast: (found: string, word: string) => boolean,
): boolean {
  return text.some((_, start) =>
    words.every((word, offset) => {
      const found = text[start + offset];
      if (found === undefined) return false;
      return offset === words.length - 1 ? isLast(found, word) : found === word;
    }),
  );
}
