import { isPosition } from './parse-page.js';

const key = '"meta":';

/** `meta` has some 200 characters and a cursor of at most 4,096; anything longer is not worth a guess. */
const metaLengthMax = 8_192;

/**
 * Where the page behind this one begins, off the end of its text, where `meta` stands. A guess that costs nothing: null
 * where `meta` stands elsewhere or nothing more is said to come, and the page itself decides once it is parsed.
 */
export function peekNext(text: string): string | null {
  const at = text.lastIndexOf(key);
  const end = text.lastIndexOf('}');
  if (at < 0 || end < at || end - at > metaLengthMax) return null;
  try {
    const meta: unknown = JSON.parse(text.slice(at + key.length, end));
    const { has_more: more, next_cursor: next } = Object(meta) as Readonly<Record<string, unknown>>;
    return more === true && typeof next === 'string' && isPosition(next) ? next : null;
  } catch {
    return null;
  }
}
