import { formats } from './formats.js';
import type { SchemaNode } from './schema-tree.js';
import type { Settings } from './settings.js';

/** Not certainly valid: the full check decides, and says what is wrong. */
const doubtful = Symbol('doubtful');
type Doubtful = typeof doubtful;

/**
 * Returns the settings of a configuration with its defaults, or null when it may be invalid. Reads only the JSON Schema
 * of the configuration, because loading the library that declares it takes longer than most commands. What it returns is
 * what the full check returns; a keyword that it does not know is a reason to return null.
 */
export function quickSettings(schema: SchemaNode, input: unknown): Settings | null {
  const settings = read(schema, input);
  return settings === doubtful || settings === undefined ? null : (settings as Settings);
}

const known: ReadonlySet<string> = new Set([
  ...['$schema', 'title', 'description', 'writeOnly', 'default', 'type', 'enum', 'const', 'anyOf', 'oneOf'],
  ...['properties', 'required', 'additionalProperties', 'propertyNames', 'items', 'minItems', 'maxItems'],
  ...['minimum', 'maximum', 'minLength', 'pattern', 'format'],
]);

function read(node: SchemaNode, given: unknown): unknown {
  if (Object.keys(node).some((keyword) => !known.has(keyword))) return doubtful;
  const value = given === undefined ? node.default : given;
  if (value === undefined) return undefined;
  const choices = node.anyOf ?? node.oneOf;
  return choices === undefined ? readPlain(node, value) : readChoice(choices, value);
}

/** Returns the value as the first choice that fits reads it. */
function readChoice(choices: readonly SchemaNode[], value: unknown): unknown {
  for (const choice of choices) {
    const chosen = read(choice, value);
    if (chosen !== doubtful) return chosen;
  }
  return doubtful;
}

function readPlain(node: SchemaNode, value: unknown): unknown {
  if (node.const !== undefined && value !== node.const) return doubtful;
  if (node.enum?.includes(value) === false) return doubtful;
  switch (node.type) {
    case 'object':
      return readObject(node, value);
    case 'array':
      return readArray(node, value);
    case 'string':
      return isText(node, value) ? value : doubtful;
    case 'integer':
    case 'number':
      return isNumber(node, value) ? value : doubtful;
    case 'boolean':
      return typeof value === 'boolean' ? value : doubtful;
    case 'null':
      return value === null ? null : doubtful;
    default:
      return doubtful;
  }
}

function readObject(node: SchemaNode, value: unknown): object | Doubtful {
  const { properties = {}, required = [], additionalProperties } = node;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return doubtful;
  if (typeof additionalProperties === 'object') return readRecord(node, additionalProperties, value);
  if (additionalProperties !== false) return doubtful;
  if (Object.keys(value).some((key) => !Object.hasOwn(properties, key))) return doubtful;
  const settings: Record<string, unknown> = {};
  for (const [key, property] of Object.entries(properties)) {
    const given = Object.hasOwn(value, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
    if (given === undefined && required.includes(key)) return doubtful;
    const setting = read(property, given);
    if (setting === doubtful) return doubtful;
    if (setting !== undefined) settings[key] = setting;
  }
  return settings;
}

/** Reads an object whose keys are data, such as ids. */
function readRecord({ properties, propertyNames }: SchemaNode, inner: SchemaNode, value: object) {
  if (properties !== undefined || propertyNames === undefined) return doubtful;
  const record: Record<string, unknown> = {};
  for (const [key, given] of Object.entries(value)) {
    // The full check ignores it, too.
    if (key === '__proto__') continue;
    const entry =
      read(propertyNames, key) === doubtful || given === undefined ? doubtful : read(inner, given);
    if (entry === doubtful) return doubtful;
    record[key] = entry;
  }
  return record;
}

function readArray({ items, minItems = 0, maxItems = Infinity }: SchemaNode, value: unknown) {
  if (!Array.isArray(value) || items === undefined) return doubtful;
  if (value.length < minItems || value.length > maxItems) return doubtful;
  // Not `map`, which skips holes: they are missing values, as everywhere.
  const settings = Array.from(value, (item) => (item === undefined ? doubtful : read(items, item)));
  return settings.includes(doubtful) ? doubtful : settings;
}

function isText({ minLength = 0, pattern, format }: SchemaNode, value: unknown): boolean {
  if (typeof value !== 'string' || value.length < minLength) return false;
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(value)) return false;
  if (format === undefined) return true;
  const checks: Readonly<Record<string, (text: string) => boolean>> = formats;
  return Object.hasOwn(checks, format) && checks[format]?.(value) === true;
}

function isNumber({ type, minimum = -Infinity, maximum = Infinity }: SchemaNode, value: unknown): boolean {
  if (typeof value !== 'number' || !Number.isFinite(value)) return false;
  return (type === 'number' || Number.isSafeInteger(value)) && value >= minimum && value <= maximum;
}
