import { type Node, nodesOf, syntaxOf } from '../support/syntax.js';

/** A small change of one place of a source file. */
export interface Mutant {
  /** File, change and line as text: stays the same when other lines move. */
  readonly name: string;
  readonly file: string;
  readonly line: number;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

const comparisons: Readonly<Record<string, readonly string[]>> = {
  '===': ['!=='],
  '!==': ['==='],
  '<': ['<='],
  '<=': ['<'],
  '>': ['>='],
  '>=': ['>'],
};
/** What SQL in template texts decides. Each is replaced where it occurs as a word. */
const sqlChanges: readonly (readonly [RegExp, string])[] = [
  [/ IS NOT NULL\b/g, ' IS NULL'],
  [/ IS NULL\b/g, ' IS NOT NULL'],
  [/ AND (?!NULL)/g, ' OR '],
  [/ <= /g, ' < '],
  [/ >= /g, ' > '],
  [/ < /g, ' <= '],
  [/ > /g, ' >= '],
];

/** Returns every mutant of a file, in order of the text. */
export function mutantsOf(file: string, text: string): readonly Mutant[] {
  const { root } = syntaxOf(file, text);
  const found: Mutant[] = [];
  const taken = new Map<string, number>();
  const add = (start: number, end: number, replacement: string) => {
    const line = text.slice(0, start).split('\n').length;
    const shown = text.split('\n')[line - 1]?.trim() ?? '';
    const change = `${brief(text.slice(start, end))} → ${brief(replacement)}`;
    const base = `${file.replace(/^src\/(?:platform\/)?/, '')} | ${change} | ${brief(shown, 70)}`;
    const times = (taken.get(base) ?? 0) + 1;
    taken.set(base, times);
    found.push({ name: times === 1 ? base : `${base} #${times}`, file, line, start, end, replacement });
  };
  for (const node of nodesOf(root)) changesOf(node, text, add);
  return found;
}

type Add = (start: number, end: number, replacement: string) => void;

function changesOf(node: Node, text: string, add: Add): void {
  switch (node.type) {
    case 'BinaryExpression': {
      const at = operatorAt(text, node.left.end, node.right.start, node.operator);
      for (const other of comparisons[node.operator] ?? []) add(at, at + node.operator.length, other);
      return;
    }
    case 'LogicalExpression': {
      const at = operatorAt(text, node.left.end, node.right.start, node.operator);
      if (node.operator !== '??') add(at, at + 2, node.operator === '&&' ? '||' : '&&');
      return;
    }
    case 'UnaryExpression':
      if (node.operator === '!') add(node.start, node.start + 1, '');
      return;
    case 'IfStatement':
    case 'ConditionalExpression':
      add(node.test.start, node.test.end, 'true');
      add(node.test.start, node.test.end, 'false');
      return;
    case 'ThrowStatement':
      add(node.start, node.end, ';');
      return;
    case 'Literal':
      if (typeof node.value === 'number' && node.value > 1) add(node.start, node.end, String(node.value + 1));
      return;
    case 'TemplateElement':
      if (/\b(?:SELECT|UPDATE|DELETE|INSERT)\b/.test(node.value.raw))
        inSql(node.start, node.value.raw, text, add);
      return;
    default:
      return;
  }
}

function inSql(from: number, raw: string, text: string, add: Add): void {
  // The node may begin at the delimiter or at the text itself.
  const start = text.indexOf(raw, from);
  for (const [pattern, replacement] of sqlChanges)
    for (const match of raw.matchAll(pattern))
      add(start + match.index, start + match.index + match[0].length, replacement);
}

const operatorAt = (text: string, from: number, to: number, operator: string): number => {
  const at = text.slice(from, to).indexOf(operator);
  if (at < 0) throw new Error(`no ${operator} between two operands`);
  return from + at;
};

const brief = (text: string, length = 40): string => {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > length ? `${line.slice(0, length)}…` : line;
};

export const mutated = (text: string, { start, end, replacement }: Mutant): string =>
  text.slice(0, start) + replacement + text.slice(end);
