import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Node, nodesOf, syntaxOf } from './syntax.js';

/** What a field of a row may hold, as SQLite names it. */
export type Kind = 'text' | 'number' | 'blob' | 'null' | 'any';

export type Fields = ReadonlyMap<string, ReadonlySet<Kind>>;

export interface RowCall {
  /** The file and line of the call. */
  readonly at: string;
  /** The texts the statement may have, or the reason why they are not known before the program runs. */
  readonly sql: { readonly texts: readonly string[] } | { readonly unknown: string };
  readonly fields: Fields;
}

/** How the calls of a room name their row type and their statement. */
export interface CallShape {
  /** Names of functions and methods, with the place of the row type among the type arguments and of the statement among the arguments. */
  readonly callees: Readonly<Record<string, { readonly type: number; readonly sql: number }>>;
  /** What modules export, by path: constants that are computed when a module is loaded. */
  readonly modules?: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

interface File {
  readonly path: string;
  readonly text: string;
  readonly root: Node;
}

const files = new Map<string, File>();

function fileOf(path: string): File {
  const known = files.get(path);
  if (known !== undefined) return known;
  const text = readFileSync(path, 'utf8');
  const file = { path, text, root: syntaxOf(path, text).root };
  files.set(path, file);
  return file;
}

class Unknown extends Error {}

const unknown = (reason: string): never => {
  throw new Unknown(reason);
};

type Modules = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

interface Declaration {
  readonly node: Node;
  readonly file: File;
}

/** Finds the file and node that declare a type or a constant, following imports and re-exports. */
function declared(name: string, file: File): Declaration | undefined {
  for (const node of nodesOf(file.root)) {
    if (declaredName(node) === name) return { node, file };
    const taken = takenFrom(node, name);
    if (taken === undefined) continue;
    const path = resolve(dirname(file.path), taken.source.replace(/\.js$/, '.ts'));
    return existsSync(path) ? declared(taken.name, fileOf(path)) : undefined;
  }
  return undefined;
}

/** The name of the type, function or constant that a node declares. */
function declaredName(node: Node): string | undefined {
  switch (node.type) {
    case 'TSTypeAliasDeclaration':
    case 'TSInterfaceDeclaration':
      return node.id.name;
    case 'FunctionDeclaration':
      return node.id?.name;
    case 'VariableDeclarator':
      return node.id.type === 'Identifier' ? node.id.name : undefined;
    default:
      return undefined;
  }
}

/** The file that an import or a re-export takes `name` from, and its name there. */
function takenFrom(node: Node, name: string): { source: string; name: string } | undefined {
  if (node.type !== 'ImportDeclaration' && node.type !== 'ExportNamedDeclaration') return undefined;
  const source = node.source?.value;
  if (source === undefined) return undefined;
  for (const specifier of node.specifiers) {
    const [outer, inner] = namesOf(specifier);
    if (outer === name && inner !== undefined) return { source, name: inner };
  }
  return undefined;
}

/** The name of an import or export in this file, and in the other one. */
function namesOf(specifier: Node): readonly (string | undefined)[] {
  const text = (name: Node) => ('name' in name ? String(name.name) : undefined);
  if (specifier.type === 'ImportSpecifier') return [text(specifier.local), text(specifier.imported)];
  if (specifier.type === 'ExportSpecifier') return [text(specifier.exported), text(specifier.local)];
  return [];
}

interface Scope {
  readonly file: File;
  /** The arguments of the function whose body is read. */
  readonly given: ReadonlyMap<string, unknown>;
  readonly modules: Modules;
}

const bare = (node: Node): Node =>
  node.type === 'TSAsExpression' ||
  node.type === 'TSSatisfiesExpression' ||
  node.type === 'ParenthesizedExpression'
    ? bare(node.expression)
    : node;

/** The value of a constant: as its module exports it, or else as its declaration reads. */
function constant(name: string, scope: Scope): unknown {
  const found = declared(name, scope.file) ?? unknown(`${name} is not declared`);
  const exported = scope.modules.get(found.file.path);
  if (exported !== undefined && name in exported) return exported[name];
  const there = { ...scope, file: found.file, given: new Map<string, unknown>() };
  if (found.node.type === 'FunctionDeclaration') return callable(found.node, there);
  if (found.node.type !== 'VariableDeclarator' || found.node.init === null)
    return unknown(`${name} is not a constant`);
  return evaluate(found.node.init, there);
}

/** A function of one expression, or of one `return`. */
function callable(node: Node, scope: Scope): (...values: unknown[]) => unknown {
  if (node.type !== 'ArrowFunctionExpression' && node.type !== 'FunctionDeclaration')
    return unknown(`${node.type} is not a function`);
  const statements: readonly Node[] = node.body?.type === 'BlockStatement' ? node.body.body : [];
  const [only] = statements;
  const body =
    node.body?.type !== 'BlockStatement'
      ? node.body
      : statements.length === 1 && only?.type === 'ReturnStatement'
        ? only.argument
        : null;
  if (body === null || body === undefined) return unknown('a function of several statements');
  const names = node.params.map((param) => ('name' in param ? String(param.name) : ''));
  return (...values) =>
    evaluate(body, {
      ...scope,
      given: new Map([...scope.given, ...names.map((name, at) => [name, values[at]] as const)]),
    });
}

const ofArray = new Set(['join', 'map', 'filter', 'flatMap', 'includes', 'slice']);
const ofText = new Set(['replace', 'replaceAll', 'trim', 'slice']);

/** The value of an expression that only combines constants. */
function evaluate(wrapped: Node, scope: Scope): unknown {
  const node = bare(wrapped);
  switch (node.type) {
    case 'Literal':
      return node.value;
    case 'TemplateLiteral':
      return node.quasis
        .map(({ value }, at) => {
          const inner = node.expressions[at];
          return `${value.cooked ?? ''}${inner === undefined ? '' : textOf(inner, scope)}`;
        })
        .join('');
    case 'BinaryExpression': {
      const [left, right] = [evaluate(node.left, scope), evaluate(node.right, scope)];
      if (node.operator === '+')
        return typeof left === 'number' && typeof right === 'number' ? left + right : `${left}${right}`;
      if (node.operator === '===') return left === right;
      if (node.operator === '!==') return left !== right;
      return unknown(`${node.operator} is not evaluated`);
    }
    case 'ConditionalExpression':
      return evaluate(evaluate(node.test, scope) === true ? node.consequent : node.alternate, scope);
    case 'Identifier':
      return scope.given.has(node.name) ? scope.given.get(node.name) : constant(node.name, scope);
    case 'ArrayExpression':
      return evaluateAll(node.elements, scope);
    case 'ObjectExpression':
      return Object.fromEntries(
        node.properties.map((property) =>
          property.type === 'Property' && 'name' in property.key
            ? [String(property.key.name), evaluate(property.value, scope)]
            : unknown('a spread'),
        ),
      );
    case 'ArrowFunctionExpression':
      return callable(node, scope);
    case 'MemberExpression': {
      const object = evaluate(node.object, scope) as Readonly<Record<string, unknown>>;
      if (!node.computed && 'name' in node.property) return object[String(node.property.name)];
      return object[String(evaluate(node.property, scope))];
    }
    case 'CallExpression': {
      const callee = bare(node.callee);
      const given = evaluateAll(node.arguments, scope);
      if (callee.type === 'MemberExpression' && 'name' in callee.property && !callee.computed) {
        const name = String(callee.property.name);
        const object = evaluate(callee.object, scope);
        if (Array.isArray(object) && ofArray.has(name))
          return (object as unknown as Record<string, (...values: unknown[]) => unknown>)[name]?.(...given);
        if (typeof object === 'string' && ofText.has(name))
          return (object as unknown as Record<string, (...values: unknown[]) => unknown>)[name]?.(...given);
        return unknown(`${name} is not evaluated`);
      }
      const called = evaluate(callee, scope);
      return typeof called === 'function' ? called(...given) : unknown('a call of something unknown');
    }
    default:
      return unknown(`${node.type} is not constant`);
  }
}

function evaluateAll(nodes: readonly (Node | null)[], scope: Scope): unknown[] {
  return nodes.flatMap((node) => {
    if (node === null) return [];
    if (node.type !== 'SpreadElement') return [evaluate(node, scope)];
    const spread = evaluate(node.argument, scope);
    return Array.isArray(spread) ? spread : unknown('a spread of something unknown');
  });
}

/** The text of a constant expression. A prepared statement of PostgreSQL has its text in a field. */
function textOf(node: Node, scope: Scope): string {
  const value = evaluate(node, scope);
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  if (typeof value === 'object' && value !== null && 'text' in value && typeof value.text === 'string')
    return value.text;
  return unknown('not a text');
}

/** The texts of an expression that picks one of several: `sql[name]` of a constant object, or one text. */
function textsOf(wrapped: Node, scope: Scope): string[] {
  const node = bare(wrapped);
  if (node.type !== 'MemberExpression' || !node.computed || node.object.type !== 'Identifier')
    return [textOf(node, scope)];
  const { name } = node.object;
  const found = declared(name, scope.file);
  if (found?.node.type !== 'VariableDeclarator' || found.node.init === null)
    return unknown(`${name} is not a constant`);
  const object = bare(found.node.init);
  if (object.type !== 'ObjectExpression') return unknown(`${name} is not a constant object`);
  const there = { ...scope, file: found.file };
  return object.properties.map((property) =>
    property.type === 'Property' ? textOf(property.value, there) : unknown('a spread'),
  );
}

/** The kinds of value that a type allows. */
function kindsOf(node: Node, file: File): Set<Kind> {
  switch (node.type) {
    case 'TSStringKeyword':
      return new Set<Kind>(['text']);
    case 'TSNumberKeyword':
      return new Set<Kind>(['number']);
    case 'TSNullKeyword':
      return new Set<Kind>(['null']);
    case 'TSLiteralType':
      return new Set<Kind>([
        node.literal.type === 'Literal' && typeof node.literal.value === 'number' ? 'number' : 'text',
      ]);
    case 'TSUnionType':
      return new Set(node.types.flatMap((type) => [...kindsOf(type, file)]));
    case 'TSParenthesizedType':
      return kindsOf(node.typeAnnotation, file);
    case 'TSTypeReference': {
      if (node.typeName.type !== 'Identifier') return new Set<Kind>(['any']);
      if (node.typeName.name === 'Buffer') return new Set<Kind>(['blob']);
      const found = declared(node.typeName.name, file);
      return found?.node.type === 'TSTypeAliasDeclaration'
        ? kindsOf(found.node.typeAnnotation, found.file)
        : new Set<Kind>(['any']);
    }
    default:
      return new Set<Kind>(['any']);
  }
}

/** The name under which `fieldsOf` returns the kinds of a row that is a single value. */
export const singleValue = '';

const scalars = new Set(['TSStringKeyword', 'TSNumberKeyword', 'TSUnionType', 'TSLiteralType']);

/** The fields of a row type: literals, interfaces, intersections, `Pick`, `Omit`, `Readonly`, or a single value. */
function fieldsOf(node: Node, file: File): Map<string, Set<Kind>> {
  const members = (nodes: readonly Node[]): Map<string, Set<Kind>> =>
    new Map(
      nodes.flatMap((member) =>
        member.type === 'TSPropertySignature' && 'name' in member.key && member.typeAnnotation
          ? [[String(member.key.name), kindsOf(member.typeAnnotation.typeAnnotation, file)] as const]
          : [],
      ),
    );
  if (scalars.has(node.type)) return new Map([[singleValue, kindsOf(node, file)]]);
  if (node.type === 'TSTypeLiteral') return members(node.members);
  if (node.type === 'TSInterfaceDeclaration')
    return new Map([
      ...node.extends.flatMap((parent) =>
        parent.expression.type === 'Identifier' ? [...namedFields(parent.expression.name, file)] : [],
      ),
      ...members(node.body.body),
    ]);
  if (node.type === 'TSIntersectionType')
    return new Map(node.types.flatMap((type) => [...fieldsOf(type, file)]));
  if (node.type === 'TSTypeReference' && node.typeName.type === 'Identifier') {
    const [first, second] = node.typeArguments?.params ?? [];
    const names = () =>
      [...nodesOf(second ?? unknown('no names'))].flatMap((part) =>
        part.type === 'TSLiteralType' && part.literal.type === 'Literal' ? [String(part.literal.value)] : [],
      );
    if (first !== undefined && (node.typeName.name === 'Readonly' || node.typeName.name === 'Selectable'))
      return fieldsOf(first, file);
    if (first !== undefined && node.typeName.name === 'Pick')
      return new Map([...fieldsOf(first, file)].filter(([name]) => names().includes(name)));
    if (first !== undefined && node.typeName.name === 'Omit')
      return new Map([...fieldsOf(first, file)].filter(([name]) => !names().includes(name)));
    return namedFields(node.typeName.name, file);
  }
  return unknown(`the row type is a ${node.type}`);
}

function namedFields(name: string, file: File): Map<string, Set<Kind>> {
  const found = declared(name, file) ?? unknown(`the row type ${name} is not declared in a file of its own`);
  if (found.node.type === 'TSTypeAliasDeclaration') {
    const aliased = found.node.typeAnnotation;
    const isBrand =
      aliased.type === 'TSTypeReference' && 'name' in aliased.typeName && aliased.typeName.name === 'Brand';
    return isBrand ? new Map([[singleValue, new Set<Kind>(['text'])]]) : fieldsOf(aliased, found.file);
  }
  if (found.node.type === 'TSInterfaceDeclaration') return fieldsOf(found.node, found.file);
  return unknown(`${name} is not a type`);
}

/** Returns every call with a row type of a file, in the shape that its room uses. */
export function rowCallsOf(
  path: string,
  shown: string,
  { callees, modules = new Map() }: CallShape,
): RowCall[] {
  const file = fileOf(path);
  const calls: RowCall[] = [];
  for (const node of nodesOf(file.root)) {
    if (node.type !== 'CallExpression') continue;
    const called = node.callee.type === 'MemberExpression' ? node.callee.property : node.callee;
    const places = 'name' in called ? callees[String(called.name)] : undefined;
    if (places === undefined) continue;
    const type = node.typeArguments?.params[places.type];
    const sql = node.arguments[places.sql];
    if (type === undefined || sql === undefined) continue;
    const at = `${shown}:${file.text.slice(0, node.start).split('\n').length}`;
    try {
      const fields = fieldsOf(type, file);
      calls.push({ at, fields, sql: { texts: textsOf(sql, { file, modules, given: new Map() }) } });
    } catch (error) {
      if (!(error instanceof Unknown)) throw error;
      calls.push({ at, fields: new Map(), sql: { unknown: error.message } });
    }
  }
  return calls;
}
