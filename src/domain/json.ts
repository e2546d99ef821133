import { storableText } from './text.js';

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Returns JSON with keys sorted at every level, so equal content has equal text whatever order it was sent in. */
export function canonicalJson(value: Json): string {
  return JSON.stringify(sorted(value));
}

/**
 * How deep a value of a response may nest. JSON can nest without limit, the call stack cannot. The platform sends four
 * levels.
 */
export const readableLevelsMax = 32;

/** Returns whether brackets nest deeper than so many levels. Does not parse the text; it need not be valid JSON. */
export function nestsDeeper(text: string, levels: number): boolean {
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index];
    if (quoted) {
      if (char === '\\') index += 1;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === '{' || char === '[') {
      depth += 1;
      if (depth > levels) return true;
    } else if (char === '}' || char === ']') depth -= 1;
  }
  return false;
}

/** Returns whether objects and arrays of a parsed value nest deeper than so many levels. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
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
