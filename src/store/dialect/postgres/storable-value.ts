import { storableText } from '../../../domain/text.js';

/**
 * Returns a parameter of a statement. PostgreSQL knows no text with NUL: what is stored has U+FFFD in its place, and a search
 * for it finds nothing. The driver itself replaces lone surrogates.
 */
export function storableValue(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('\0') ? storableText(value) : value;
  return Array.isArray(value) ? value.map(storableValue) : value;
}
