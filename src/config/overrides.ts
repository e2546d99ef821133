import { closest } from '../domain/closest.js';
import type { Problem } from './invalid-config.js';
import { type Path, parsePath, pathText, valueAt } from './path.js';
import { childOf, nodeAt, propertiesOf, type SchemaNode, variantsOf } from './schema-tree.js';

/** A value from the environment or a flag, converted to the type of its option, and its origin. */
export interface Override {
  readonly path: Path;
  readonly value: unknown;
  readonly origin: string;
}

export interface Overrides {
  readonly overrides: readonly Override[];
  /** Names that match no option, each with the closest known name. */
  readonly unknown: readonly { readonly name: string; readonly meant: string | undefined }[];
}

const prefix = 'ROSTERD_';
/** Variables that are not options: the configuration file, and the address of a sandbox. */
const reservedNames = ['ROSTERD_CONFIG', 'ROSTERD_SANDBOX'];

/** `intervalSeconds` → `INTERVAL_SECONDS`. */
function upperSnake(key: string): string {
  return key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** `['sources', 0, 'name']` → `ROSTERD_SOURCES__0__NAME`. */
export function environmentName(path: Path): string {
  return prefix + path.map((step) => (typeof step === 'number' ? step : upperSnake(step))).join('__');
}

export function environmentOverrides(
  root: SchemaNode,
  env: Readonly<Record<string, string | undefined>>,
): Overrides {
  const overrides: Override[] = [];
  const unknown: { name: string; meant: string | undefined }[] = [];
  // Sorted, so that an object (ROSTERD_SYNC) is set before its parts (ROSTERD_SYNC__PER_PAGE).
  for (const name of Object.keys(env).sort()) {
    const text = env[name];
    if (text === undefined || !name.startsWith(prefix) || reservedNames.includes(name)) continue;
    const found = resolve(root, name.slice(prefix.length).split('__'));
    if (found === undefined) unknown.push({ name, meant: meantName(root, name) });
    else overrides.push({ path: found.path, value: fromText(found.node, text), origin: `env ${name}` });
  }
  return { overrides, unknown };
}

export function flagOverrides(
  root: SchemaNode,
  flags: readonly { readonly path: string; readonly text: string; readonly flag: string }[],
): Overrides {
  const overrides: Override[] = [];
  const unknown: { name: string; meant: string | undefined }[] = [];
  for (const { path: written, text, flag } of flags) {
    const path = parsePath(written);
    const node = nodeAt(root, path);
    if (node === undefined || path.length === 0) {
      unknown.push({ name: `${flag} ${written}`, meant: closest(written, optionPaths(root).map(pathText)) });
    } else overrides.push({ path, value: fromText(node, text), origin: `flag ${flag}` });
  }
  return { overrides, unknown };
}

function resolve(
  root: SchemaNode,
  segments: readonly string[],
): { path: Path; node: SchemaNode } | undefined {
  const path: (string | number)[] = [];
  let node = root;
  for (const segment of segments) {
    const step = /^\d{1,3}$/.test(segment)
      ? Number(segment)
      : Object.keys(propertiesOf(node)).find((key) => upperSnake(key) === segment);
    const child = step === undefined ? undefined : childOf(node, step);
    if (step === undefined || child === undefined) return undefined;
    path.push(step);
    node = child;
  }
  return { path, node };
}

/** Converts text to the type of its option. Text that does not fit stays text, for validation to report. */
function fromText(node: SchemaNode, text: string): unknown {
  const types = variantsOf(node).map((variant) => variant.type);
  const trimmed = text.trim();
  const couldBeJson =
    /^[[{]/.test(trimmed) ||
    (trimmed === 'null' && types.includes('null')) ||
    (/^(?:true|false)$/.test(trimmed) && types.includes('boolean')) ||
    (/^-?\d+(?:\.\d+)?$/.test(trimmed) && types.some((type) => type === 'number' || type === 'integer'));
  if (!couldBeJson) return text;
  try {
    return JSON.parse(trimmed) as unknown;
  } catch {
    return text;
  }
}

/** Returns the path of every option and section; items of lists have index 0. */
function optionPaths(root: SchemaNode, below: Path = []): readonly Path[] {
  const paths: Path[] = [];
  for (const [key, child] of Object.entries(propertiesOf(root))) {
    const path = [...below, key];
    paths.push(path, ...optionPaths(child, path));
    const item = childOf(child, 0);
    if (item !== undefined) paths.push(...optionPaths(item, [...path, 0]));
  }
  return paths;
}

/** Compares names without their common prefix, which would make different names look similar. */
function meantName(root: SchemaNode, name: string): string | undefined {
  const known = [...reservedNames, ...optionPaths(root).map(environmentName)];
  const meant = closest(
    name.slice(prefix.length),
    known.map((other) => other.slice(prefix.length)),
  );
  return meant === undefined ? undefined : prefix + meant;
}

/** Returns a copy with the value set, creating the lists and objects on the path. */
export function withValue(root: unknown, path: Path, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const list = Array.isArray(root) ? [...root] : [];
    list[step] = withValue(list[step], rest, value);
    return list;
  }
  const object = typeof root === 'object' && root !== null && !Array.isArray(root) ? { ...root } : {};
  const child = Object.hasOwn(object, step) ? (object as Record<string, unknown>)[step] : undefined;
  return { ...object, [step]: withValue(child, rest, value) };
}

/** Returns a problem for each entry of a list that overrides set beyond its end, so that entries before it do not exist. */
export function gapsOf(overrides: readonly Override[], input: unknown): readonly Problem[] {
  const found = overrides.flatMap(({ path, origin }) => {
    const at = path.findIndex((step, index) => typeof step === 'number' && isAfterGap(input, path, index));
    if (at === -1) return [];
    const list = path.slice(0, at);
    const missing = firstGap(valueAt(input, list));
    return [
      {
        path: pathText(path.slice(0, at + 1)),
        where: origin,
        message: `leaves out ${pathText([...list, missing])}, which does not exist`,
        hint: `the next entry of ${pathText(list)} is ${pathText([...list, missing])}`,
      },
    ];
  });
  return found.filter(({ path }, index) => found.findIndex((one) => one.path === path) === index);
}

function isAfterGap(input: unknown, path: Path, index: number): boolean {
  return firstGap(valueAt(input, path.slice(0, index))) < Number(path[index]);
}

/** Returns the first index without a value; the length of a list that has all. */
function firstGap(value: unknown): number {
  if (!Array.isArray(value)) return Number.POSITIVE_INFINITY;
  const gap = Array.from<unknown>(value).indexOf(undefined);
  return gap === -1 ? value.length : gap;
}
