import { printable } from '../../domain/printable.js';

export interface Column {
  readonly title: string;
  /** Numbers line up at their last digit. */
  readonly align?: 'left' | 'right';
}

const gap = '  ';
/** Below this a column is a smear of letters; then the table is wider than asked. */
const columnWidthMin = 8;

/**
 * Lines of a table no wider than `width`: the widest columns give way first, and what does not fit a cell
 * continues on the next line, so that nothing is lost.
 */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): readonly string[] {
  const { head, lines } = tableLayout(columns, rows, width);
  return [...head, ...rows.flatMap(lines)];
}

export interface TableLayout {
  readonly head: readonly string[];
  /** The lines of one row; a cell that is wider than those the layout was made from makes its line longer, or wraps. */
  lines(row: readonly string[]): readonly string[];
}

/** The layout that suits these rows, and that others may follow. Without a width nothing wraps. */
export function tableLayout(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): TableLayout {
  const titles = columns.map(({ title }) => title);
  const printed = (row: readonly string[]) => columns.map((_, at) => printable(row[at] ?? ''));
  const natural = printed(titles).map(lengthOf);
  for (const row of rows)
    for (const [at, cell] of printed(row).entries()) natural[at] = Math.max(natural[at] ?? 0, lengthOf(cell));
  const widths = fitted(natural, width - gap.length * (columns.length - 1));
  const lines = (row: readonly string[]) => {
    const parts = printed(row).map((cell, at) =>
      width === Number.POSITIVE_INFINITY ? [cell] : wrapped(cell, widths[at] ?? columnWidthMin),
    );
    const height = Math.max(0, ...parts.map((cells) => cells.length));
    return Array.from({ length: height }, (_, line) =>
      parts
        .map((cells, at) => padded(cells[line] ?? '', widths[at] ?? 0, columns[at]?.align))
        .join(gap)
        .trimEnd(),
    );
  };
  return { head: lines(titles), lines };
}

/** Below this an id, a time or a word is broken into pieces nobody reads. */
const readableWidth = 16;

/** Whether a table of that width would leave every column as wide as its content, or wide enough to read. */
export function fitsReadably(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): boolean {
  const widths = columns.map(({ title }, at) =>
    rows.reduce(
      (widest, row) => Math.max(widest, lengthOf(printable(row[at] ?? ''))),
      lengthOf(printable(title)),
    ),
  );
  const least = widths.map((natural) => Math.min(natural, readableWidth));
  return sum(least) + gap.length * (columns.length - 1) <= width;
}

/** The same data as one block for each row: a line of `title  value` for each column. */
export function blockLines(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): readonly string[] {
  const lines = blockLayout(columns, width);
  return rows.flatMap(lines);
}

/** The lines of the row with that index. */
export function blockLayout(
  columns: readonly Column[],
  width: number,
): (row: readonly string[], index: number) => readonly string[] {
  const titles = columns.map(({ title }) => printable(title));
  const margin = Math.max(...titles.map(lengthOf)) + gap.length;
  return (row, index) => [
    `-- row ${index + 1} --`,
    ...titles.flatMap((title, at) =>
      wrapped(printable(row[at] ?? ''), Math.max(columnWidthMin, width - margin)).map((part, line) =>
        (padded(line === 0 ? title : '', margin, 'left') + part).trimEnd(),
      ),
    ),
  ];
}

/** Takes one character at a time from the widest column, until all fit or none can give. */
function fitted(natural: readonly number[], room: number): readonly number[] {
  // None gets more than there is, so a giant need not give way character by character.
  const widths = natural.map((width) => Math.min(width, Math.max(room, columnWidthMin)));
  for (let over = sum(widths) - room; over > 0; over -= 1) {
    const widest = widths.indexOf(Math.max(...widths));
    const width = widths[widest] ?? 0;
    if (width <= columnWidthMin) break;
    widths[widest] = width - 1;
  }
  return widths;
}

/** Breaks at a space when there is one in the second half of the line, else in the word. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  const characters = [...text];
  let from = 0;
  while (characters.length - from > width) {
    const space = characters.lastIndexOf(' ', from + width);
    const cut = space > from + width / 2 ? space : from + width;
    lines.push(characters.slice(from, cut).join(''));
    from = characters[cut] === ' ' ? cut + 1 : cut;
  }
  return [...lines, characters.slice(from).join('')];
}

function padded(text: string, width: number, align: Column['align']): string {
  const fill = ' '.repeat(Math.max(0, width - lengthOf(text)));
  return align === 'right' ? fill + text : text + fill;
}

function lengthOf(text: string): number {
  return [...text].length;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
