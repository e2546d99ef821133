import { Fault } from '../domain/fault.js';
import { printable } from '../domain/printable.js';

/**
 * A kind of lower-case words, a slash, and a name that does not begin with a dot. The length lets the file of the entry
 * and of its lock fit into 255 bytes.
 */
const keyShape = /^[a-z]+(?:-[a-z]+)*\/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,89}$/;

/** Returns the key. Throws `usage` when it cannot name an entry. */
export function checkedKey(key: string): string {
  if (keyShape.test(key)) return key;
  throw new Fault('usage', `"${printable(key.slice(0, 120))}" cannot name a vault entry`, {
    hint: 'use a name of at most 90 letters, digits, dots, hyphens and underscores',
  });
}
