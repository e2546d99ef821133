import { isPosition } from './parse-page.js';

const key = '"meta":';

/** `meta` has some 200 characters and a cursor at most 4,096. Anything longer is not worth the guess. */
const metaLengthMax = 8_192;

/**
 * Returns a guess of the next page's cursor, read from the end of the text where `meta` usually is, or null when
 * `meta` is elsewhere or reports no more pages. A wrong guess costs nothing: the parsed page decides.
 */
export function earlyCursor(text: string): string | null {
  const at = text.lastIndexOf(key);
  const end = text.lastIndexOf('}');
  if (at < 0 || end - at > metaLengthMax) return null;
  try {
    const meta: unknown = JSON.parse(text.slice(at + key.length, end));
    const { has_more: more, next_cursor: next } = Object(meta) as Readonly<Record<string, unknown>>;
    return more === true && typeof next === 'string' && isPosition(next) ? next : null;
  } catch {
    return null;
  }
}
