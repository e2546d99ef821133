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
  const titles = columns.map(({ title }) => title);
  const cells = [titles, ...rows.map((row) => columns.map((_, at) => printable(row[at] ?? '')))];
  const widths = fitted(
    columns.map((_, at) => Math.max(...cells.map((row) => lengthOf(row[at] ?? '')))),
    width - gap.length * (columns.length - 1),
  );
  return cells.flatMap((row) => {
    const parts = row.map((cell, at) => wrapped(cell, widths[at] ?? columnWidthMin));
    const height = Math.max(...parts.map((lines) => lines.length));
    return Array.from({ length: height }, (_, line) =>
      parts
        .map((lines, at) => padded(lines[line] ?? '', widths[at] ?? 0, columns[at]?.align))
        .join(gap)
        .trimEnd(),
    );
  });
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
    Math.max(lengthOf(title), ...rows.map((row) => lengthOf(printable(row[at] ?? '')))),
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
  const titles = columns.map(({ title }) => printable(title));
  const margin = Math.max(...titles.map(lengthOf)) + gap.length;
  return rows.flatMap((row, index) => [
    `-- row ${index + 1} --`,
    ...titles.flatMap((title, at) =>
      wrapped(printable(row[at] ?? ''), Math.max(columnWidthMin, width - margin)).map((part, line) =>
        (padded(line === 0 ? title : '', margin, 'left') + part).trimEnd(),
      ),
    ),
  ]);
}

/** Takes one character at a time from the widest column, until all fit or none can give. */
function fitted(natural: readonly number[], room: number): readonly number[] {
  const widths = [...natural];
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
  let rest = [...text];
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const cut = space > width / 2 ? space : width;
    lines.push(rest.slice(0, cut).join(''));
    rest = rest.slice(rest[cut] === ' ' ? cut + 1 : cut);
  }
  return [...lines, rest.join('')];
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
