import type { Figure } from './steps.js';

/*
 * One table of all figures: a column for each number of records, and after each but the first how much the figure grew
 * from the column before it.
 */

interface Line {
  readonly database: string;
  readonly step: string;
  readonly what: string;
  readonly values: ReadonlyMap<number, number>;
  readonly format: (value: number) => string;
}

export function growthTable(figures: readonly Figure[]): string {
  const sizes = [...new Set(figures.map(({ records }) => records))].sort((one, other) => one - other);
  const lines = linesOf(figures);
  return [...new Set(lines.map(({ database }) => database))]
    .map((database) => {
      const rows = lines.filter((line) => line.database === database).map((line) => rowOf(line, sizes));
      return `### huge, ${database}\n\n${headOf(sizes)}\n${rows.join('\n')}`;
    })
    .join('\n\n');
}

function headOf(sizes: readonly number[]): string {
  const columns = sizes.flatMap((size, at) => {
    const count = size.toLocaleString('en-US');
    return at === 0 ? [count] : [count, `grown, records ${figure(size / (sizes[at - 1] ?? 1))} ×`];
  });
  return `| Step | | ${columns.join(' | ')} |\n| --- | --- | ${columns.map(() => '---:').join(' | ')} |`;
}

function rowOf({ step, what, values, format }: Line, sizes: readonly number[]): string {
  const cells = sizes.flatMap((size, at) => {
    const value = values.get(size);
    const text = value === undefined ? '' : format(value);
    if (at === 0) return [text];
    const before = values.get(sizes[at - 1] ?? 0);
    const hasBoth = value !== undefined && before !== undefined && before > 0;
    return [text, hasBoth ? `${figure(value / before)} ×` : ''];
  });
  return `| ${step} | ${what} | ${cells.join(' | ')} |`;
}

function linesOf(figures: readonly Figure[]): readonly Line[] {
  const lines = new Map<string, Line & { readonly values: Map<number, number> }>();
  const add = (of: Figure, what: string, value: number | undefined, format: Line['format']) => {
    if (value === undefined || value === 0) return;
    const { database, step, records } = of;
    const key = [database, step, what].join('\n');
    const line = lines.get(key) ?? { database, step, what, format, values: new Map<number, number>() };
    lines.set(key, line);
    line.values.set(records, value);
  };
  const megabytes = (value: number) => `${figure(value)} MB`;
  for (const one of figures) {
    add(one, 'time', one.seconds, duration);
    add(one, 'CPU', one.cost?.cpuSeconds, duration);
    for (const [process, peak] of Object.entries(one.cost?.memory ?? {}))
      add(one, `peak memory of ${process}`, peak, megabytes);
    add(one, 'most disk', one.cost?.diskMegabytes, megabytes);
    add(one, 'size afterwards', one.size, megabytes);
  }
  return [...lines.values()];
}

function duration(seconds: number): string {
  if (seconds < 1) return `${figure(seconds * 1_000)} ms`;
  return seconds < 120 ? `${figure(seconds)} s` : `${figure(seconds / 60)} min`;
}

/** Formats with three significant digits and thousands separators. */
function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
}
