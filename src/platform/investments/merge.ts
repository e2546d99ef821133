import type { Json, JsonObject } from '../../domain/json.js';

/** Merges objects recursively. All other values, including lists, are replaced. */
export function mergeDeeply(base: JsonObject, patch: JsonObject): JsonObject {
  const merged: { [key: string]: Json } = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    const before = merged[key];
    merged[key] = isObject(before) && isObject(value) ? mergeDeeply(before, value) : value;
  }
  return merged;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
