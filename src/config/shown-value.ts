import { printable } from '../domain/printable.js';
import { maskCredentials } from '../wire/credential-shapes.js';

const charactersMax = 60;

/** Returns a refused value as a message shows it: cut, and without what may be a password. */
export function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  // Mask the user part of an address up to its last `@`, since an unencoded password may contain one, also where the
  // slashes or the host are missing, all query options, and the password of a connection string such as `host=db password=…`.
  const text = maskCredentials(printable(written(value)))
    .replace(/\/\/.*@/, '//…@')
    .replace(/:(?!\/\/…@).*@/, ':…@')
    .replace(/(\/\/[^/?#:[…]*:)(?!\d*(?:[/?#]|"$)).+"/, '$1…"')
    .replace(/(\/\/[^?#]*[?#]).+"/, '$1…"')
    .replace(/((?:password|passwd|pwd)\s*=).+"/i, '$1…"');
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}…` : text;
}

/** A program may pass what JSON does not have, such as NaN, a bigint or a function. */
function written(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  return JSON.stringify(value) ?? `a ${typeof value}`;
}
