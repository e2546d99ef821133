/** Returns the 32 bytes of a key in base64, base64url or hexadecimal; null for any other text. */
export function vaultKeyBytes(text: string): Buffer | null {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  if (!/^(?:[A-Za-z0-9+/]{43}|[A-Za-z0-9_-]{43})=?$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === 32 ? bytes : null;
}

/** What to do about a text that is not a key. */
export const vaultKeyHint =
  'expected 32 bytes as base64 or hexadecimal; `openssl rand -base64 32` makes a key';
