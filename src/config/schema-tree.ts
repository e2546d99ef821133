import { isDeepStrictEqual } from 'node:util';
import { defined } from '../domain/defined.js';
import type { Path } from './path.js';

/** The subset of JSON Schema that the declarations produce; enough to find the schema of a path. */
export interface SchemaNode {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly oneOf?: readonly SchemaNode[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly writeOnly?: boolean;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  /** A schema: any key is allowed, and this is what each value is. */
  readonly additionalProperties?: boolean | SchemaNode;
  readonly propertyNames?: SchemaNode;
}

/** Returns the variants of a node, with anyOf and oneOf expanded. */
export function variantsOf(node: SchemaNode): readonly SchemaNode[] {
  const choices = node.anyOf ?? node.oneOf;
  return choices === undefined ? [node] : choices.flatMap(variantsOf);
}

/** Returns the properties of all variants. A key that several variants declare differently becomes an anyOf. */
export function propertiesOf(node: SchemaNode): Readonly<Record<string, SchemaNode>> {
  const together: Record<string, SchemaNode> = {};
  for (const variant of variantsOf(node)) {
    for (const [key, property] of Object.entries(variant.properties ?? {})) {
      const known = together[key];
      together[key] =
        known === undefined || isDeepStrictEqual(known, property)
          ? property
          : { ...pick(known), anyOf: [...variantsOf(known), property] };
    }
  }
  return together;
}

function pick({ description, writeOnly }: SchemaNode): SchemaNode {
  return {
    ...defined({ description, writeOnly }),
  };
}

export function childOf(node: SchemaNode, step: string | number): SchemaNode | undefined {
  if (typeof step === 'number') return variantsOf(node).find((variant) => variant.items)?.items;
  const properties = propertiesOf(node);
  if (Object.hasOwn(properties, step)) return properties[step];
  return variantsOf(node).flatMap(({ additionalProperties: any }) =>
    typeof any === 'object' ? [any] : [],
  )[0];
}

/** Returns the schema of a path, or undefined for an unknown path. */
export function nodeAt(root: SchemaNode, path: Path): SchemaNode | undefined {
  return path.reduce<SchemaNode | undefined>((node, step) => node && childOf(node, step), root);
}

/** Returns true when the path is a secret or lies within one. */
export function isSecretPath(root: SchemaNode, path: Path): boolean {
  return path.some((_, index) => nodeAt(root, path.slice(0, index + 1))?.writeOnly === true);
}

/** Returns the type for messages and docs. A nullable value is an anyOf with `null` as a variant. */
export function typeText(node: SchemaNode): string {
  if (node.writeOnly === true) return node.type === 'array' ? 'list of secrets' : 'secret';
  if (node.enum !== undefined) return node.enum.join(' | ');
  const names = variantsOf(node).map((variant) => {
    if (variant.enum !== undefined) return variant.enum.join(' | ');
    if (variant.const !== undefined) return JSON.stringify(variant.const);
    if (variant.type === 'array') return `list of ${variant.items ? typeText(variant.items) : 'anything'}s`;
    return variant.type ?? 'anything';
  });
  return [...new Set(names)].join(' | ');
}
