import type { ApiDocument } from '../../src/platform/openapi/document.js';

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema as it stands in the document
type Schema = any;

const annotations = ['description', 'title', 'default', 'example', 'examples', 'deprecated', 'propertyNames'];
const known = new Set([
  ...annotations,
  ...['$ref', 'type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items'],
  ...['anyOf', 'oneOf', 'allOf', 'format', 'pattern', 'minimum', 'maximum', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems'],
]);

/**
 * Returns the errors in a value the platform produced. Stricter than a client may be: an undeclared field is an
 * error even where the schema allows future fields; only `details` differs by endpoint. An unknown schema keyword
 * is an error too, so that nothing is skipped silently.
 */
export function violations(document: ApiDocument, schema: Schema, value: unknown, at = '$'): string[] {
  if (schema.$ref !== undefined) return violations(document, resolve(document, schema.$ref), value, at);
  const unknownWords = Object.keys(schema).filter((word) => !known.has(word));
  if (unknownWords.length > 0) return [`${at}: the schema uses ${unknownWords.join(', ')}`];
  for (const list of [schema.anyOf, schema.oneOf]) {
    if (list === undefined) continue;
    const tries = list.map((choice: Schema) => violations(document, choice, value, at)) as string[][];
    return tries.some((found) => found.length === 0) ? [] : shortest(tries);
  }
  if (schema.allOf !== undefined) {
    return schema.allOf.flatMap((part: Schema) => violations(document, part, value, at));
  }
  if ('const' in schema && value !== schema.const)
    return [`${at}: ${show(value)} is not ${show(schema.const)}`];
  if (schema.enum !== undefined && !schema.enum.includes(value))
    return [`${at}: ${show(value)} is not listed`];
  if (schema.type !== undefined && !isOfType(value, schema.type)) {
    return [`${at}: ${show(value)} is no ${schema.type}`];
  }
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => violations(document, schema.items ?? {}, item, `${at}[${index}]`));
  }
  if (typeof value === 'object' && value !== null) return inObject(document, schema, value, at);
  return inScalar(schema, value, at);
}

function inObject(document: ApiDocument, schema: Schema, value: object, at: string): string[] {
  const properties: Readonly<Record<string, Schema>> = schema.properties ?? {};
  const found = (schema.required ?? [])
    .filter((name: string) => !Object.hasOwn(value, name))
    .map((name: string) => `${at}.${name}: missing`);
  const rest = schema.additionalProperties;
  // Room for future fields (`{}`) is for clients; an object schema without properties is an open record.
  const open =
    at === '$.error.details' ||
    (schema.properties === undefined && (rest !== undefined || schema.type === undefined));
  for (const [name, held] of Object.entries(value)) {
    const own = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (own !== undefined) found.push(...violations(document, own, held, `${at}.${name}`));
    else if (!open && Object.keys(rest ?? {}).length === 0) found.push(`${at}.${name}: not declared`);
    else if (typeof rest === 'object') found.push(...violations(document, rest, held, `${at}.${name}`));
  }
  return found;
}

function inScalar(schema: Schema, value: unknown, at: string): string[] {
  const wrong: string[] = [];
  if (typeof value === 'string') {
    if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)) wrong.push('pattern');
    if (value.length > (schema.maxLength ?? Number.POSITIVE_INFINITY)) wrong.push('maxLength');
    if (value.length < (schema.minLength ?? 0)) wrong.push('minLength');
  }
  if (typeof value === 'number') {
    if (value > (schema.maximum ?? Number.POSITIVE_INFINITY)) wrong.push('maximum');
    if (value < (schema.minimum ?? Number.NEGATIVE_INFINITY)) wrong.push('minimum');
  }
  return wrong.map((word) => `${at}: ${show(value)} breaks ${word}`);
}

function isOfType(value: unknown, type: string | readonly string[]): boolean {
  if (typeof type !== 'string') return type.some((one) => isOfType(value, one));
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  // An amount has its bounds in the schema; a sum has none.
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return type === typeof value;
}

export function resolve(document: ApiDocument, reference: string): Schema {
  let node: Schema = document;
  for (const step of reference.split('/').slice(1)) node = node?.[step];
  if (node === undefined) throw new Error(`${reference} is not in the document`);
  return node;
}

const shortest = (lists: readonly string[][]): string[] =>
  lists.reduce((best, list) => (list.length < best.length ? list : best));

const show = (value: unknown): string => JSON.stringify(value)?.slice(0, 80) ?? String(value);
