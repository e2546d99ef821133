import { printable } from '../../domain/printable.js';

export interface Column {
  readonly title: string;
  /** `right` for numbers. */
  readonly align?: 'left' | 'right';
}

const gap = '  ';
/** The narrowest a column gets; if that is not enough, the table is wider than `width`. */
const columnWidthMin = 8;

export interface TableLayout {
  readonly head: readonly string[];
  /** Returns the lines of one row. A cell wider than those the layout was made from makes its line longer, or wraps. */
  lines(row: readonly string[]): readonly string[];
}

/**
 * Returns a layout that fits these rows in `width` and can format later ones. The widest columns shrink first, and text that
 * does not fit its cell wraps to the next line. With an infinite width nothing wraps.
 */
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
  const widths = fitted(natural, leastWidths(columns, rows), width - gap.length * (columns.length - 1));
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

/** The width below which broken ids, times and words become unreadable. */
const readableWidth = 16;

/** Returns whether in a table of that width every column shows its content whole or is wide enough to read. */
export function fitsReadably(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
): boolean {
  const whole = leastWidths(columns, rows);
  const least = columns.map(({ title }, at) =>
    rows.reduce(
      (widest, row) => Math.max(widest, Math.min(lengthOf(printable(row[at] ?? '')), readableWidth)),
      Math.max(whole[at] ?? 0, Math.min(lengthOf(printable(title)), readableWidth)),
    ),
  );
  return sum(least) + gap.length * (columns.length - 1) <= width;
}

/** Returns a function for the lines of the row with that index. */
export function blockLayout(
  columns: readonly Column[],
  width: number,
): (row: readonly string[], index: number) => readonly string[] {
  const titles = columns.map(({ title }) => printable(title));
  const margin = Math.max(...titles.map(lengthOf)) + gap.length;
  return (row, index) => [
    `-- row ${index + 1} --`,
    ...titles.flatMap((title, at) =>
      pieces(row[at] ?? '', Math.max(columnWidthMin, width - margin)).map((part, line) =>
        (padded(line === 0 ? title : '', margin, 'left') + part).trimEnd(),
      ),
    ),
  ];
}

/** A cell of a block: a number or a time stays whole, even if its line gets longer than the terminal. */
const pieces = (cell: string, width: number): readonly string[] =>
  unbreakable.test(cell) ? [cell] : wrapped(printable(cell), width);

/** Numbers, amounts, durations, days and times: broken over two lines they are easily misread. */
const unbreakable = /^(?:[-+~]?[\d][\d,.]*(?: (?:ms|s|%|[kMG]?B))?|\d{4}-\d\d-\d\d(?:[T ][\d:.]+Z?)?)$/;

/** Returns the width of the widest unbreakable cell of each column, or the minimum width. */
function leastWidths(columns: readonly Column[], rows: readonly (readonly string[])[]): readonly number[] {
  return columns.map((_, at) =>
    rows.reduce((widest, row) => {
      const cell = row[at] ?? '';
      return unbreakable.test(cell) ? Math.max(widest, cell.length) : widest;
    }, columnWidthMin),
  );
}

/** Shrinks the widest column by one character at a time, until all columns fit or have their least width. */
function fitted(natural: readonly number[], least: readonly number[], room: number): readonly number[] {
  // Cap each column at the available width first, so that a very wide one does not shrink character by character.
  const widths = natural.map((width, at) => Math.min(width, Math.max(room, least[at] ?? 0)));
  for (let over = sum(widths) - room; over > 0; over -= 1) {
    const shrinkable = widths.map((width, at) => (width > (least[at] ?? 0) ? width : 0));
    const widest = Math.max(...shrinkable);
    if (widest === 0) break;
    widths[shrinkable.indexOf(widest)] = widest - 1;
  }
  return widths;
}

/** Breaks a line at a space in its second half, or within a word if there is none. */
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
