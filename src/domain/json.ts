import { storableText } from './text.js';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Returns JSON with keys sorted at every level, so equal content has equal text whatever order it was sent in. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: Json): Json {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  // With a null prototype a key called `__proto__` is ordinary data.
  const out: { [key: string]: Json } = Object.create(null);
  for (const key of Object.keys(value).sort())
    out[storableText(key)] = sorted((value as JsonObject)[key] ?? null);
  return out;
}
