import { type Html, html } from '../../runtime/html.js';
import { chart } from '../parts/chart.js';
import { count, money } from '../parts/format.js';
import { bar, table } from '../parts/table.js';
import type { QueryCell, QuerySeen } from '../ports/query.js';
import { queryNumber } from './query-number.js';

/** Charts drawn for one result at most. */
const plotsMax = 3;
const categoriesMax = 40;
/** Curves of a result whose rows are several series, such as one for each currency. */
const seriesMax = 6;

/** What a person can choose. `auto` draws what suits the columns. */
export const plotChoices = { auto: 'Automatic', line: 'Lines', bars: 'Bars', none: 'None' } as const;
export type PlotChoice = keyof typeof plotChoices;

export const isPlotChoice = (text: string): text is PlotChoice => Object.hasOwn(plotChoices, text);

/** Returns the charts of a result. A kind that was chosen and cannot be drawn is explained. */
export function plotOf(result: QuerySeen, choice: PlotChoice): Html | null {
  if (choice === 'none') return null;
  const drawn = drawnAs(result, choice);
  if (drawn !== null || choice === 'auto') return drawn;
  return html`<p class="note">${
    choice === 'line'
      ? 'No lines: the first column has to be a month, a day or a time, and another one numbers.'
      : 'No bars: the first column has to be a time or up to 40 different texts, and another one numbers.'
  }</p>`;
}

/**
 * Returns charts of a result whose first column is a time or a category and whose other columns are numbers, or null.
 * A text column is allowed when it has the same value in every row, such as a currency. When its values differ and the
 * first column is a time, each combination of them is a chart of its own.
 */
function drawnAs(result: QuerySeen, choice: Exclude<PlotChoice, 'none'>): Html | null {
  const { rows, columns } = result;
  const first = rows.map((row) => row[0] ?? null);
  if (rows.length < 2 || !first.every((cell) => typeof cell === 'string')) return null;
  const others = columns.map((_, index) => index).slice(1);
  const plotted = others.filter((index) => rows.every((row) => typeof queryNumber(row[index]) === 'number'));
  if (plotted.length > 0 && hasRepeats(first))
    return first.every(isTime) ? plotOfSeries(result, plotted, choice) : null;
  const steady = (index: number) => rows.every((row) => row[index] === rows[0]?.[index]);
  if (plotted.length === 0 || !others.every((index) => plotted.includes(index) || steady(index))) return null;
  const drawn = plotted.slice(0, plotsMax);
  if (first.every(isTime)) return html`${drawn.map((index) => overTime(result, index, choice))}`;
  return choice === 'line' || rows.length > categoriesMax
    ? null
    : html`${drawn.map((index) => byCategory(result, index))}`;
}

/** Returns charts for each combination of the text columns, or null when the rows are not a few separate series. */
function plotOfSeries(
  result: QuerySeen,
  plotted: readonly number[],
  choice: Exclude<PlotChoice, 'none'>,
): Html | null {
  const texts = result.columns.map((_, index) => index).filter((at) => at > 0 && !plotted.includes(at));
  const series = new Map<string, (typeof result.rows)[number][]>();
  for (const row of result.rows) {
    const name = texts.map((at) => String(row[at] ?? 'none')).join(', ');
    const rows = series.get(name);
    if (rows === undefined) series.set(name, [row]);
    else rows.push(row);
  }
  if (series.size < 2 || series.size > seriesMax) return null;
  if ([...series.values()].some((rows) => hasRepeats(rows.map((row) => row[0] ?? null)))) return null;
  const drawn = plotted.slice(0, Math.max(1, Math.min(plotsMax, Math.floor(seriesMax / series.size))));
  return html`${[...series].flatMap(([name, rows], place) =>
    drawn.map((index) => overTime({ ...result, rows }, index, choice, { name, place })),
  )}`;
}

const isTime = (cell: QueryCell): boolean =>
  typeof cell === 'string' && /^\d{4}-\d{2}(?:-\d{2}(?:[T ]\d{2}:\d{2}.*)?)?$/.test(cell);

const hasRepeats = (cells: readonly QueryCell[]): boolean => new Set(cells).size < cells.length;

function overTime(
  { columns, rows }: QuerySeen,
  index: number,
  choice: Exclude<PlotChoice, 'none'>,
  series?: { readonly name: string; readonly place: number },
): Html {
  const name = columns[index] ?? '';
  const cents = name.includes('_cents');
  const points = rows
    .map((row) => ({ at: String(row[0]), value: numberOf(row[index]) }))
    .toSorted((one, other) => (one.at < other.at ? -1 : 1));
  return chart({
    id: series === undefined ? `plot-${index}` : `plot-${index}-${series.place}`,
    title: series === undefined ? name : `${name}, ${series.name}`,
    kind: choice === 'bars' ? 'bars' : 'line',
    unit: '',
    ...(cents ? { note: 'The chart shows whole currency units; the result and the table show cents.' } : {}),
    columns: [{ title: columns[0] ?? '' }, { title: name, number: true, series: name }],
    rows: points.map(({ at, value }) => [
      { shown: at, value: at },
      cents
        ? { shown: count(value), value: Number(value) / 100, words: money(value, null) }
        : { shown: count(value), value: Number(value) },
    ]),
    summary: `${count(points.length)} points from ${points[0]?.at} to ${points.at(-1)?.at}.`,
    empty: '',
  });
}

/** A total beyond 2^53 is exact as a bigint only. */
const numberOf = (cell: QueryCell | undefined): number | bigint =>
  typeof cell === 'bigint' ? cell : Number(cell);

function byCategory({ columns, rows }: QuerySeen, index: number): Html {
  const name = columns[index] ?? '';
  const largest = Math.max(...rows.map((row) => Math.abs(Number(row[index]))));
  return html`<section aria-labelledby="plot-${index}-title"><h3 id="plot-${index}-title">${name}</h3>${table(
    `${name} by ${columns[0] ?? ''}`,
    [{ title: columns[0] ?? '' }, { title: name, number: true }, { title: 'Share of the largest' }],
    rows.map((row) => [
      ...[String(row[0]), count(numberOf(row[index])), bar(Math.abs(Number(row[index])), largest)],
    ]),
    '',
  )}</section>`;
}
