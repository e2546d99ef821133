import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Node, nodesOf, syntaxOf } from './syntax.js';

/** What a field of a row may hold, as SQLite names it. */
export type Kind = 'text' | 'number' | 'blob' | 'null' | 'any';

export interface RowCall {
  /** The file and line of the call. */
  readonly at: string;
  /** The texts the statement may have, or the reason why they are not known before the program runs. */
  readonly sql: { readonly texts: readonly string[] } | { readonly unknown: string };
  readonly fields: ReadonlyMap<string, ReadonlySet<Kind>>;
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

/** Finds the file and node that declare a type or a constant, following imports and re-exports. */
function declared(name: string, file: File): { readonly node: Node; readonly file: File } | undefined {
  for (const node of nodesOf(file.root)) {
    if (
      (node.type === 'TSTypeAliasDeclaration' || node.type === 'TSInterfaceDeclaration') &&
      node.id.name === name
    )
      return { node, file };
    if (node.type === 'VariableDeclarator' && node.id.type === 'Identifier' && node.id.name === name)
      return { node, file };
    if (
      node.type === 'ImportDeclaration' ||
      (node.type === 'ExportNamedDeclaration' && node.source !== null)
    ) {
      const source = node.source?.value ?? '';
      for (const specifier of node.specifiers) {
        if (specifier.type !== 'ImportSpecifier' && specifier.type !== 'ExportSpecifier') continue;
        const outer = specifier.type === 'ImportSpecifier' ? specifier.local : specifier.exported;
        const inner = specifier.type === 'ImportSpecifier' ? specifier.imported : specifier.local;
        if (!('name' in outer) || outer.name !== name || !('name' in inner)) continue;
        const path = resolve(dirname(file.path), source.replace(/\.js$/, '.ts'));
        return existsSync(path) ? declared(inner.name, fileOf(path)) : undefined;
      }
    }
  }
  return undefined;
}

interface Scope {
  readonly file: File;
  /** The arguments of the function whose body is read. */
  readonly arguments: ReadonlyMap<string, string>;
}

const inFile = (file: File): Scope => ({ file, arguments: new Map() });

/** The expression that a constant stands for, with the file that declares it. */
function constant(name: string, scope: Scope): { readonly node: Node; readonly scope: Scope } {
  const found = declared(name, scope.file);
  if (found?.node.type !== 'VariableDeclarator' || found.node.init === null)
    return unknown(`${name} is not a constant`);
  let node: Node = found.node.init;
  while (node.type === 'TSAsExpression' || node.type === 'TSSatisfiesExpression') node = node.expression;
  return { node, scope: inFile(found.file) };
}

/** The value of a constant text: literals, templates, concatenations, constants and functions of one expression. */
function textOf(node: Node, scope: Scope): string {
  if (node.type === 'Literal' && (typeof node.value === 'string' || typeof node.value === 'number'))
    return String(node.value);
  if (node.type === 'TSAsExpression') return textOf(node.expression, scope);
  if (node.type === 'TemplateLiteral')
    return node.quasis
      .map(({ value }, at) => {
        const inner = node.expressions[at];
        return `${value.cooked ?? ''}${inner === undefined ? '' : textOf(inner, scope)}`;
      })
      .join('');
  if (node.type === 'BinaryExpression' && node.operator === '+')
    return textOf(node.left, scope) + textOf(node.right, scope);
  if (node.type === 'Identifier') {
    const given = scope.arguments.get(node.name);
    if (given !== undefined) return given;
    const { node: value, scope: there } = constant(node.name, scope);
    return textOf(value, there);
  }
  if (node.type === 'CallExpression' && node.callee.type === 'Identifier') {
    const { node: called, scope: there } = constant(node.callee.name, scope);
    if (called.type === 'ArrowFunctionExpression' && called.body.type !== 'BlockStatement') {
      const given = node.arguments.map((argument) => textOf(argument, scope));
      const names = called.params.map((param) => ('name' in param ? String(param.name) : ''));
      return textOf(called.body, {
        ...there,
        arguments: new Map(names.map((name, at) => [name, given[at] ?? ''])),
      });
    }
  }
  return unknown(`${node.type} is not constant`);
}

/** The texts of an expression that picks one of several: `sql[name]` of a constant object, or one text. */
function textsOf(node: Node, file: File): string[] {
  if (node.type !== 'MemberExpression' || node.object.type !== 'Identifier')
    return [textOf(node, inFile(file))];
  const { node: object, scope } = constant(node.object.name, inFile(file));
  if (object.type !== 'ObjectExpression') return unknown(`${node.object.name} is not a constant object`);
  return object.properties.map((property) =>
    property.type === 'Property' ? textOf(property.value, scope) : unknown('a spread'),
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

/** The fields of a row type: literals, interfaces, intersections, `Pick`, `Omit`, `Readonly` and `Record`. */
function fieldsOf(node: Node, file: File): Map<string, Set<Kind>> {
  const members = (nodes: readonly Node[]): Map<string, Set<Kind>> =>
    new Map(
      nodes.flatMap((member) =>
        member.type === 'TSPropertySignature' && 'name' in member.key && member.typeAnnotation
          ? [[String(member.key.name), kindsOf(member.typeAnnotation.typeAnnotation, file)] as const]
          : [],
      ),
    );
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
    if (first !== undefined && node.typeName.name === 'Readonly') return fieldsOf(first, file);
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
  if (found.node.type === 'TSTypeAliasDeclaration') return fieldsOf(found.node.typeAnnotation, found.file);
  if (found.node.type === 'TSInterfaceDeclaration') return fieldsOf(found.node, found.file);
  return unknown(`${name} is not a type`);
}

/** Every call of `one<Row>(state, sql, …)` and `all<Row>(…)` in a file. */
export function rowCallsOf(path: string, shown: string): RowCall[] {
  const file = fileOf(path);
  const calls: RowCall[] = [];
  for (const node of nodesOf(file.root)) {
    if (node.type !== 'CallExpression' || node.callee.type !== 'Identifier') continue;
    if (node.callee.name !== 'one' && node.callee.name !== 'all') continue;
    const type = node.typeArguments?.params[0];
    const sql = node.arguments[1];
    if (type === undefined || sql === undefined) continue;
    const at = `${shown}:${file.text.slice(0, node.start).split('\n').length}`;
    try {
      const fields = fieldsOf(type, file);
      calls.push({ at, fields, sql: { texts: textsOf(sql, file) } });
    } catch (error) {
      if (!(error instanceof Unknown)) throw error;
      calls.push({ at, fields: new Map(), sql: { unknown: error.message } });
    }
  }
  return calls;
}
