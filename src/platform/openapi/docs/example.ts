import type { ApiDocument } from '../document.js';
import { choicesOf, referredName, type Schema, schemaOf } from './reading.js';

/** Deep enough for every body. Stops at recursive schemas. */
const depthMax = 8;

/** Returns an example for the schema: its own example if it has one, otherwise a simple value of its type. */
export function exampleOf(document: ApiDocument, schema: Schema, depth = 0): unknown {
  if (depth > depthMax) return null;
  const own = schemaOf(document, schema);
  const declared = own.example ?? own.examples?.[0] ?? own.const ?? own.default ?? own.enum?.[0];
  if (declared !== undefined) return declared;
  if (own.allOf !== undefined) {
    return Object.assign({}, ...own.allOf.map((part) => exampleOf(document, part, depth + 1)));
  }
  const { choices, nullable } = choicesOf(own);
  const first = choices[0];
  if (first === undefined) return null;
  if (first !== own) return nullable && scalar(first) ? null : exampleOf(document, first, depth + 1);
  const type = Array.isArray(own.type) ? own.type.find((name) => name !== 'null') : own.type;
  switch (type) {
    case 'object':
      return objectExample(document, schema, depth);
    case 'array':
      return own.items === undefined ? [] : [exampleOf(document, own.items, depth + 1)];
    case 'string':
      return exampleTexts[own.format ?? ''] ?? 'text';
    case 'integer':
    case 'number':
      return Math.max(1, own.minimum ?? 1);
    case 'boolean':
      return true;
    default:
      return nullable ? null : {};
  }
}

const exampleTexts: Readonly<Record<string, string>> = {
  'date-time': '2026-11-02T09:00:00.000Z',
  uri: 'https://partner.example/',
};

function objectExample(document: ApiDocument, schema: Schema, depth: number): Record<string, unknown> {
  const own = schemaOf(document, schema);
  const properties = Object.entries(own.properties ?? {});
  const example = Object.fromEntries(
    properties.map(([name, property]) => [
      name,
      prefixed(property) ?? exampleOf(document, property, depth + 1),
    ]),
  );
  const rest = own.additionalProperties;
  if (properties.length === 0 && typeof rest === 'object' && Object.keys(rest).length > 0) {
    example.key = exampleOf(document, rest, depth + 1);
  }
  return example;
}

/** Returns whether the schema is a scalar. Nullable scalars are shown as null to keep examples short. */
const scalar = (schema: Schema): boolean =>
  'type' in schema && schema.type !== 'object' && schema.type !== 'array';

/** Derives an example id from a description that starts with an id prefix such as `usr_`. */
function prefixed(schema: Schema): string | undefined {
  if (referredName(schema) !== null || schema.description === undefined) return undefined;
  const prefix = /^([a-z]{2,5}_)(?:$|[^a-z])/.exec(schema.description)?.[1];
  return prefix === undefined ? undefined : `${prefix}example`;
}
