import type { Node } from '@oxc-project/types';
import { parseSync } from 'rolldown/utils';

export type { Node };

export interface Syntax {
  readonly root: Node;
  readonly comments: readonly { readonly start: number; readonly end: number }[];
}

/** Returns the syntax tree of a TypeScript file. Throws if it cannot be parsed. */
export function syntaxOf(path: string, text: string): Syntax {
  const { program, comments, errors } = parseSync(path, text, { lang: 'ts', sourceType: 'module' });
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path}: ${error.message}`);
  return { root: program, comments };
}

/** Yields the node and everything below it, in order of the text. */
export function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) yield* nodesOf(child);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Returns the text of a string literal, or undefined for any other expression. */
export function stringOf(node: Node): string | undefined {
  return node.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;
}
