import { idempotencyKeyHeader } from '../../wire/headers.js';
import type { Operation } from '../contract/operation.js';
import type { Exchange, Handler, Step } from './exchange.js';

export interface Route {
  readonly operation: Operation;
  readonly steps: readonly Step[];
  readonly handler: Handler;
}

/**
 * One row of a feature's route table: the declared operation, its steps in order and its handler. A handler for other
 * schemas does not compile.
 */
export function route<const Declared extends Operation>(
  operation: Declared,
  ...rest: readonly [...Step<NoInfer<Declared>>[], Handler<NoInfer<Declared>>]
): Route {
  // The casts are safe: the pipeline validates the input with the schemas of this operation before it calls the handler.
  const handler = rest.at(-1) as Handler;
  if ((operation.idempotencyKey === true) !== 'takesKey' in handler)
    throw new Error(
      `${operation.id}: the declaration and the handler disagree about ${idempotencyKeyHeader}`,
    );
  return { operation, steps: rest.slice(0, -1) as readonly Step[], handler };
}

interface Node {
  readonly literals: Map<string, Node>;
  parameter: { readonly node: Node } | null;
  readonly routes: Map<string, { readonly route: Route; readonly names: readonly string[] }>;
}

const emptyNode = (): Node => ({ literals: new Map(), parameter: null, routes: new Map() });

export interface Match {
  readonly route: Route | null;
  readonly params: Exchange['params'];
  /** Methods the path supports, for the response to any other method. */
  readonly methods: readonly string[];
}

/** A tree of path segments. A literal segment takes precedence over a parameter, as in `/installations/eligible`. */
export class Router {
  readonly #root = emptyNode();

  constructor(routes: readonly Route[]) {
    for (const entry of routes) this.#add(entry);
  }

  #add(entry: Route): void {
    let node = this.#root;
    const names: string[] = [];
    for (const segment of entry.operation.path.split('/').slice(1)) {
      const name = /^\{(.+)\}$/.exec(segment)?.[1];
      if (name === undefined) {
        const next = node.literals.get(segment) ?? emptyNode();
        node.literals.set(segment, next);
        node = next;
      } else {
        names.push(name);
        node.parameter ??= { node: emptyNode() };
        node = node.parameter.node;
      }
    }
    if (node.routes.has(entry.operation.method)) throw new Error(`two routes for ${entry.operation.id}`);
    node.routes.set(entry.operation.method, { route: entry, names });
  }

  match(method: string, path: string): Match | null {
    const segments = path.split('/').slice(1);
    const found = descend(this.#root, segments, 0, []);
    if (found === null) return null;
    const methods = [...found.node.routes.keys()];
    const entry =
      found.node.routes.get(method) ?? (method === 'HEAD' ? found.node.routes.get('GET') : undefined);
    if (entry === undefined) return { route: null, params: {}, methods };
    const params = Object.fromEntries(entry.names.map((name, index) => [name, found.values[index] ?? '']));
    return { route: entry.route, params, methods };
  }
}

function descend(
  node: Node,
  segments: readonly string[],
  index: number,
  values: readonly string[],
): { readonly node: Node; readonly values: readonly string[] } | null {
  const segment = segments[index];
  if (segment === undefined) return node.routes.size > 0 ? { node, values } : null;
  const literal = node.literals.get(segment);
  const viaLiteral = literal === undefined ? null : descend(literal, segments, index + 1, values);
  if (viaLiteral !== null || node.parameter === null || segment === '') return viaLiteral;
  return descend(node.parameter.node, segments, index + 1, [...values, segment]);
}
