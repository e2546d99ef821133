// Draws each chart from the table next to it, so that the two always agree.
import './language.js';
import uPlot from './uplot.js';

const height = 240;
/** Axis steps for counts, which are whole numbers. */
const whole = Array.from({ length: 13 }, (_, digits) => [1, 2, 5].map((step) => step * 10 ** digits)).flat();
const charts = [...document.querySelectorAll('[data-chart]')].map((box) => ({
  box,
  ...read(box),
  plot: null,
}));

function read(box) {
  const heads = [...box.querySelectorAll('thead th')];
  const columns = heads.flatMap((head, index) => (head.dataset.series === undefined ? [] : [index]));
  const rows = [...box.querySelectorAll('tbody tr')].map((row) => [...row.children]);
  return {
    names: columns.map((index) => heads[index].dataset.series),
    data: [
      rows.map(([first]) => seconds(first.dataset.value)),
      ...columns.map((index) => rows.map((row) => Number(row[index].dataset.value))),
    ],
    times: rows.map(([first]) => first.textContent),
    words: columns.map((index) => rows.map((row) => row[index].dataset.words ?? row[index].textContent)),
  };
}

/** Converts a month, a day or a time to seconds in UTC: a month to its first day, a day to its midnight. */
function seconds(text) {
  const whole = /^\d{4}-\d{2}$/.test(text) ? `${text}-01` : text.replace(' ', 'T');
  return Date.parse(whole.length > 10 && !/[Zz]|[+-]\d{2}:?\d{2}$/.test(whole) ? `${whole}Z` : whole) / 1_000;
}

function color(name) {
  // The browser resolves `light-dark()` only on an element that uses the colour.
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

/** Returns the format of the labels of the axis, which are round numbers. */
function format(unit) {
  const options = /^[A-Z]{3}$/.test(unit)
    ? { style: 'currency', currency: unit, currencyDisplay: 'narrowSymbol' }
    : {};
  return new Intl.NumberFormat('en-US', { ...options, notation: 'compact', maximumFractionDigits: 1 });
}

function options(chart, width) {
  const { box, names, data } = chart;
  const short = format(box.dataset.unit);
  const bars = box.dataset.chart === 'bars';
  const inks = [color('--accent'), color('--second'), color('--ok')];
  const axis = {
    stroke: color('--soft'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  };
  const readout = box.querySelector('.readout');
  return {
    width,
    height,
    legend: { show: false },
    padding: [12, 20, 0, 0],
    tzDate: (at) => uPlot.tzDate(new Date(at * 1_000), 'Etc/UTC'),
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { time: true },
      y: { range: (_, low, high) => bounds(Math.min(0, low), Math.max(0, high)) },
    },
    axes: [
      { ...axis, grid: { show: false }, values: dates },
      {
        ...axis,
        size: 64,
        ...(bars ? { incrs: whole } : {}),
        values: (_, ticks) => ticks.map((tick) => short.format(tick)),
      },
    ],
    series: [
      {},
      ...names.map((label, index) => ({
        label,
        stroke: inks[index],
        width: bars ? 0 : 2,
        fill: bars ? inks[index] : faint(inks[index]),
        points: { show: data[0].length < 2 },
        ...(bars ? { paths: uPlot.paths.bars({ size: [0.7, 18], align: 0 }) } : {}),
      })),
    ],
    hooks: {
      setCursor: [
        ({ cursor: { idx } }) => {
          readout.textContent = idx === null || idx === undefined ? '' : said(chart, idx);
        },
      ],
    },
  };
}

const months = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' });
const days = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const hours = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', timeZone: 'UTC' });

/** Returns `3 Aug`, or only the month for wide steps, with the year below the first label of each year. */
function dates(_plot, ticks, _axis, _space, step) {
  const words = step >= 28 * 86_400 ? months : step >= 86_400 ? days : hours;
  let year;
  return ticks.map((tick) => {
    const at = new Date(tick * 1_000);
    const text = words.format(at);
    if (at.getUTCFullYear() === year) return text;
    year = at.getUTCFullYear();
    return `${text}\n${year}`;
  });
}

const bounds = (low, high) => (low === high ? [0, 1] : [low * 1.05, high * 1.05]);
const faint = (ink) => ink.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.1)');

/** Returns the values of one time as the table writes them: a number could not hold every digit of a large amount. */
function said({ names, times, words }, index) {
  return [times[index], ...names.map((name, at) => `${name} ${words[at][index]}`)].join(' · ');
}

function draw(chart) {
  const place = chart.box.querySelector('.plot');
  chart.plot?.destroy();
  const width = chart.box.clientWidth - 2 * Number.parseFloat(getComputedStyle(chart.box).paddingInlineStart);
  chart.plot = new uPlot(options(chart, width), chart.data, place);
}

for (const chart of charts) {
  if (chart.data[0].length === 0) continue;
  if (chart.names.length > 1) chart.box.prepend(key(chart.names));
  draw(chart);
  // Fold the table: the chart shows the same numbers, and one key opens it again.
  chart.box.querySelector('details').open = false;
  new ResizeObserver(() => {
    const width =
      chart.box.clientWidth - 2 * Number.parseFloat(getComputedStyle(chart.box).paddingInlineStart);
    if (width > 0 && width !== chart.plot.width) chart.plot.setSize({ width, height });
  }).observe(chart.box);
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => charts.forEach(draw));

function key(names) {
  const list = document.createElement('p');
  list.className = 'key';
  list.setAttribute('aria-hidden', 'true');
  for (const name of names) {
    const item = document.createElement('span');
    item.textContent = name;
    list.append(item);
  }
  return list;
}
