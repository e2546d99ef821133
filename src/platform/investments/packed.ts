import type { Json, JsonObject } from '../../domain/json.js';
import { isObject } from './merge.js';

/**
 * Published records are stored without their field names, which are the same in nearly all of them: a world of millions of
 * records then takes half the space. A record with other fields, such as one that a control call gave an unknown field, is
 * stored as JSON.
 */
type Shape = readonly (string | readonly [field: string, fields: Shape])[];

export const contentShape: Shape = [
  'id',
  'visible',
  'status',
  'converted_to',
  'converted_from',
  'offering',
  'company',
  'investment_type',
  'offering_type',
  'group',
  'applied_at',
  ['amounts', ['currency', 'committed_cents', 'investment_size_cents', 'in_escrow_cents', 'raised_cents']],
  'shares',
  'average_share_price',
  'needs_whitelisting',
  ['investor', ['id', 'deactivated', 'via_entity']],
  'blockers',
  'contracts',
];

export const identityShape: Shape = [
  'external_username',
  'message',
  ['investor', ['name', 'legal_name', 'email', 'address', 'bio']],
];

/** Returns the text to store: an array of the values if the object has exactly the fields of the shape, in its order. */
export const packed = (shape: Shape, object: JsonObject): string =>
  JSON.stringify(valuesOf(shape, object) ?? object);

/** Returns the object of a stored text, with its fields in their order. */
export function unpacked(shape: Shape, text: string): JsonObject {
  const stored = JSON.parse(text) as Json;
  return Array.isArray(stored) ? objectOf(shape, stored) : (stored as JsonObject);
}

function valuesOf(shape: Shape, object: Json | undefined): Json[] | undefined {
  if (!isObject(object)) return undefined;
  const names = Object.keys(object);
  if (names.length !== shape.length) return undefined;
  const values: Json[] = [];
  for (const [index, part] of shape.entries()) {
    const name = typeof part === 'string' ? part : part[0];
    const value = object[name];
    if (names[index] !== name || value === undefined) return undefined;
    const inner = typeof part === 'string' ? value : valuesOf(part[1], value);
    if (inner === undefined) return undefined;
    values.push(inner);
  }
  return values;
}

function objectOf(shape: Shape, values: readonly Json[]): JsonObject {
  const object: { [field: string]: Json } = {};
  for (const [index, part] of shape.entries()) {
    const value = values[index] ?? null;
    if (typeof part === 'string') object[part] = value;
    else object[part[0]] = objectOf(part[1], value as Json[]);
  }
  return object;
}
