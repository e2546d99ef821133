/**
 * Returns the text of each entry of the top-level `data` array as it was sent. JSON.parse rounds large numbers and
 * drops repeated keys, and records with these are the ones that get quarantined, so their original text is kept.
 * Takes only text that JSON.parse accepted, so it needs to track only strings and nesting.
 */
export function rawItems(text: string): readonly string[] {
  let items: readonly string[] = [];
  // Only the pieces of an object begin with a key and a colon.
  for (const member of piecesOf(text.trim())) {
    const keyEnd = endOfString(member, 0) + 1;
    const value = member.slice(member.indexOf(':', keyEnd) + 1).trimStart();
    // A repeated key replaces the earlier one, as in JSON.parse.
    if (isKeyData(member.slice(0, keyEnd)) && value.startsWith('[')) items = piecesOf(value);
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

/** Returns the texts between the outer brackets of an object or array, separated at its own commas. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let depth = 0;
  let from = 1;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charCodeAt(at);
    if (sign === quote) at = endOfString(text, at);
    else if (sign === openBrace || sign === openBracket) depth += 1;
    else if (sign === closeBrace || sign === closeBracket) depth -= 1;
    if (depth === 0 || (depth === 1 && sign === comma)) {
      pieces.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  // Only an empty object or array has an empty piece.
  return pieces.filter((piece) => piece !== '');
}

function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
  return at;
}

/** Keys may be escaped: `"d\u0061ta"` is the same key. */
function isKeyData(key: string): boolean {
  return key === '"data"' || (key.includes('\\') && JSON.parse(key) === 'data');
}
