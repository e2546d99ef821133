import type { z } from 'zod';
import { closest } from '../domain/closest.js';
import { printable } from '../domain/printable.js';
import type { Problem } from './invalid-config.js';
import { type Path, pathText, valueAt } from './path.js';
import { isSecretPath, nodeAt, propertiesOf, type SchemaNode, typeText, variantsOf } from './schema-tree.js';
import { refusedKeys } from './settings.js';
import { shownValue } from './shown-value.js';
import { secretForms } from './values.js';

export interface Examined {
  readonly root: SchemaNode;
  readonly input: unknown;
  whereOf(path: Path): string;
}

export function problemsOf(issues: readonly z.core.$ZodIssue[], examined: Examined): readonly Problem[] {
  const found = issues.filter(isLastBound).flatMap((issue) => {
    const path = issue.path.filter((step) => typeof step !== 'symbol');
    return issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => unknownKey([...path, key], examined))
      : [badValue(issue, path, examined)];
  });
  // Report a misspelt key once, not also as a missing option.
  const meant = new Set(found.flatMap(({ instead }) => instead ?? []));
  return found
    .filter(({ path, missing }) => !missing || !meant.has(path))
    .map(({ missing: _, instead: __, ...problem }) => problem);
}

/**
 * Returns false for a bound that is not worth a problem of its own: the first of two that a number breaks, as beyond 2^53 it
 * breaks that of whole numbers, and then that of its option, which is narrower; and the length of a text that should be a list.
 */
function isLastBound(issue: z.core.$ZodIssue, index: number, issues: readonly z.core.$ZodIssue[]): boolean {
  if (issue.code !== 'too_big' && issue.code !== 'too_small') return true;
  const next = issues[index + 1];
  const isOfSame = (other: z.core.$ZodIssue) => pathText(other.path as Path) === pathText(issue.path as Path);
  if (next?.code === issue.code && isOfSame(next)) return false;
  return !issues.some((other) => other.code === 'invalid_type' && isOfSame(other));
}

/** Returns the paths of the mistakes; for an unknown key, the path of that key. */
export function placesOf(issues: readonly z.core.$ZodIssue[]): readonly Path[] {
  return issues.flatMap((issue) => {
    const path = issue.path.filter((step) => typeof step !== 'symbol');
    return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path];
  });
}

/** Returns the variants of a union that the value selects by its constants, such as `kind`; all when none fits. */
function formOf(node: SchemaNode, value: unknown): SchemaNode {
  const variants = variantsOf(node);
  const marks = variants.flatMap(({ properties = {}, required = [] }) =>
    required.filter((key) => properties[key]?.const !== undefined),
  );
  const chosen = variants.filter(({ properties = {} }) =>
    marks.every((mark) => valueAt(value, [mark]) === properties[mark]?.const),
  );
  return chosen.length === 0 ? node : { anyOf: chosen };
}

interface Found extends Problem {
  readonly missing?: boolean;
  /** The path of the closest known option. */
  readonly instead?: string;
}

function unknownKey(path: Path, { root, input, whereOf }: Examined): Found {
  const key = String(path.at(-1));
  const parent = nodeAt(root, path.slice(0, -1));
  const name = path.filter((step) => typeof step === 'string').join('.');
  const refused = Object.hasOwn(refusedKeys, name) ? refusedKeys[name] : undefined;
  const siblings =
    parent === undefined ? [] : Object.keys(propertiesOf(formOf(parent, valueAt(input, path.slice(0, -1)))));
  const meant = closest(key, siblings);
  const hint =
    refused ?? (meant === undefined ? `options here: ${siblings.join(', ')}` : `did you mean ${meant}?`);
  const message = refused === undefined ? 'is not an option' : 'cannot be set';
  return {
    path: printable(pathText(path)),
    where: whereOf(path),
    message,
    hint,
    ...(meant === undefined ? {} : { instead: pathText([...path.slice(0, -1), meant]) }),
  };
}

function badValue(issue: z.core.$ZodIssue, path: Path, { root, input, whereOf }: Examined): Found {
  if (issue.code === 'invalid_key') return badKey(issue, path, whereOf(path));
  const node = nodeAt(root, path);
  const value = valueAt(input, path);
  const secret = isSecretPath(root, path);
  const kinds = kindsAt(root, path);
  const expected = secret && node?.type !== 'array' ? secretForms : expectedBy(issue, node, kinds);
  const found = foundText(value, secret);
  const choices = (issue.code === 'invalid_value' ? issue.values : kinds).map(String);
  const meant = typeof value === 'string' ? closest(value, choices) : undefined;
  return {
    path: pathText(path),
    where: whereOf(path),
    message: `${found}; expected ${expected}`,
    missing: value === undefined,
    ...(meant === undefined ? {} : { hint: `did you mean ${meant}?` }),
  };
}

/** Says what is there, never a secret. */
function foundText(value: unknown, isSecret: boolean): string {
  if (value === undefined) return 'is missing';
  if (!isSecret) return `is ${shownValue(value)}`;
  return typeof value === 'string' ? 'must not contain the secret itself' : 'is not a reference to a secret';
}

/** A key that is data, such as an id. */
function badKey({ issues }: z.core.$ZodIssueInvalidKey, path: Path, where: string): Found {
  const expected = issues[0]?.message ?? 'another key';
  return { path: printable(pathText(path)), where, message: `cannot be a key here; expected ${expected}` };
}

function oneOf(choices: readonly unknown[]): string {
  return choices.map((choice) => JSON.stringify(choice)).join(' or ');
}

/** Returns the values that select a variant of a union, when `path` is that option. */
function kindsAt(root: SchemaNode, path: Path): readonly unknown[] {
  const parent = nodeAt(root, path.slice(0, -1));
  if (parent === undefined) return [];
  return variantsOf(parent).flatMap((variant) => variant.properties?.[String(path.at(-1))]?.const ?? []);
}

function expectedBy(
  issue: z.core.$ZodIssue,
  node: SchemaNode | undefined,
  kinds: readonly unknown[],
): string {
  switch (issue.code) {
    case 'too_small':
      if (issue.origin === 'string') return 'text that is not empty';
      return issue.origin === 'array' ? `a list of at least ${issue.minimum}` : `at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'array' ? `a list of at most ${issue.maximum}` : `at most ${issue.maximum}`;
    case 'invalid_value':
      return oneOf(issue.values);
    case 'invalid_type':
      if (issue.expected === 'int') return 'a whole number';
      return node === undefined ? issue.expected : typeText(node);
    case 'invalid_union':
      if (kinds.length > 0) return oneOf(kinds);
      return node === undefined ? 'something else' : typeText(node);
    default:
      return issue.message;
  }
}
