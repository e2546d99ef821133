/**
 * Returns the text of each entry of the top-level `data` array as it was sent. JSON.parse rounds large numbers and
 * drops repeated keys, and records with these are the ones that get quarantined, so their original text is kept.
 * Takes only text that JSON.parse accepted, so it needs to track only strings and nesting.
 */
export function rawItems(text: string): readonly string[] {
  let items: string[] = [];
  let isData = false;
  let depth = 0;
  let itemFrom = -1;
  let key = '';
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    const isBetween = depth === 2 && isData && itemFrom < 0;
    if (sign === quote) {
      const end = endOfString(text, at);
      if (depth === 1) key = text.slice(at, end + 1);
      else if (isBetween) itemFrom = at;
      at = end;
    } else if (sign === openBrace || sign === openBracket) {
      if (isBetween) itemFrom = at;
      depth += 1;
      // A repeated key replaces the earlier one, as in JSON.parse.
      if (depth === 2) {
        isData = sign === openBracket && isKeyData(key);
        if (isData) items = [];
      }
    } else if (sign === closeBrace || sign === closeBracket || sign === comma) {
      if (depth === 2 && isData && !isBetween) {
        items.push(text.slice(itemFrom, at).trimEnd());
        itemFrom = -1;
      }
      if (sign !== comma) depth -= 1;
    } else if (isBetween && sign > space) {
      itemFrom = at;
    }
  }
  return items;
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const space = 0x20;

function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}

/** Keys may be escaped: `"d\u0061ta"` is the same key. */
function isKeyData(key: string): boolean {
  return key === '"data"' || (key.includes('\\') && JSON.parse(key) === 'data');
}
