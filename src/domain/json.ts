import { storableText } from './text.js';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Keys sorted at every depth, so that the same content is the same text whatever order it was sent in. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: Json): Json {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  // A null prototype, so that a key called `__proto__` is data like any other.
  const out: { [key: string]: Json } = Object.create(null);
  for (const key of Object.keys(value).sort())
    out[storableText(key)] = sorted((value as JsonObject)[key] ?? null);
  return out;
}
