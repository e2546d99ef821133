import { expect, test } from 'vitest';
import { wantsColor } from '../../../src/cli/output/color.js';
import { Output } from '../../../src/cli/output/output.js';
import { Progress, progressText } from '../../../src/cli/output/progress.js';
import { Stderr } from '../../../src/cli/output/stderr.js';
import { type Column, tableLayout } from '../../../src/cli/output/table.js';
import { ago, duration } from '../../../src/cli/output/words.js';
import { counted } from '../../../src/domain/counted.js';
import { collector, fakeIo } from '../fake-io.js';

function tableLines(columns: readonly Column[], rows: readonly (readonly string[])[], width: number) {
  const { head, lines } = tableLayout(columns, rows, width);
  return [...head, ...rows.flatMap(lines)];
}

test('a table fits the given width and keeps every letter', () => {
  const long = 'a sentence that is much too long for one line of a table, and goes on a little';
  const lines = tableLines(
    [{ title: 'ID' }, { title: 'TEXT' }, { title: 'CENTS', align: 'right' }],
    [
      ['inv_1', long, '7'],
      ['inv_22', 'x'.repeat(70), '1200'],
    ],
    60,
  );
  expect(lines.filter((line) => line.length > 60)).toEqual([]);
  expect(lines.join(' ').replaceAll(/\s+/g, '')).toContain('x'.repeat(40));
  expect(lines.join('').match(/x/g)).toHaveLength(70);
  for (const word of long.split(' ')) expect(lines.join(' ')).toContain(word);
});

test('rows too wide for a table become blocks on a terminal and stay a table in a pipe', () => {
  const columns = Array.from({ length: 30 }, (_, at) => ({ title: `column_${at}` }));
  const rows = [columns.map((_, at) => (at === 2 ? 'y'.repeat(100) : `value ${at}`)), columns.map(() => '')];
  const terminal = fakeIo({ tty: true, columns: 40, env: { NO_COLOR: '1' } });
  new Output(terminal).rows(columns, rows);
  const lines = terminal.out().split('\n');
  expect(lines.slice(0, 8)).toEqual([
    '-- row 1 --',
    'column_0   value 0',
    'column_1   value 1',
    `column_2   ${'y'.repeat(29)}`,
    ...[29, 29, 13].map((length) => `           ${'y'.repeat(length)}`),
    'column_3   value 3',
  ]);
  expect(lines.slice(34, 36)).toEqual(['-- row 2 --', 'column_0']);
  const pipe = fakeIo();
  new Output(pipe).rows(columns, rows);
  expect(pipe.out().split('\n')).toHaveLength(4);
});

test('a few columns stay a table on a terminal even with long text', () => {
  const io = fakeIo({ tty: true, columns: 80, env: { NO_COLOR: '1' } });
  new Output(io).rows([{ title: 'ID' }, { title: 'TEXT' }], [['inv_1', 'word '.repeat(40)]]);
  expect(io.out().split('\n')[0]).toBe('ID     TEXT');
});

test('numbers are right-aligned and lines have no trailing space', () => {
  expect(
    tableLines(
      [{ title: 'A' }, { title: 'N', align: 'right' }],
      [
        ['a', '1'],
        ['bb', '200'],
      ],
      80,
    ),
  ).toEqual(['A     N', 'a     1', 'bb  200']);
});

test('tables and lines escape control characters in data', () => {
  const io = fakeIo();
  const out = new Output(io);
  out.line('a\u001b[2Jb');
  out.table([{ title: 'T' }], [['x\ny\u202e']]);
  expect(io.out()).toBe('a\\u001b[2Jb\nT\nx\\u000ay\\u202e\n');
});

test('a table wraps to the width of the terminal and not in a pipe', () => {
  const terminal = fakeIo({ tty: true, columns: 40, env: { NO_COLOR: '1' } });
  new Output(terminal).table([{ title: 'T' }], [['y'.repeat(100)]]);
  expect(terminal.out().split('\n')[1]).toHaveLength(40);
  const pipe = fakeIo();
  new Output(pipe).table([{ title: 'T' }], [['y'.repeat(100)]]);
  expect(pipe.out().split('\n')[1]).toHaveLength(100);
});

test.each([
  ['a terminal', true, {}, true],
  ['a pipe', false, {}, false],
  ['NO_COLOR', true, { NO_COLOR: '1' }, false],
  ['an empty NO_COLOR', true, { NO_COLOR: '' }, true],
  ['a dumb terminal', true, { TERM: 'dumb' }, false],
  ['a pipe with CLICOLOR_FORCE', false, { CLICOLOR_FORCE: '1' }, true],
  ['NO_COLOR against CLICOLOR_FORCE', true, { CLICOLOR_FORCE: '1', NO_COLOR: '1' }, false],
])('colour setting for %s', (_, tty, env, expected) => {
  expect(wantsColor(collector(tty, 80).stream, env)).toBe(expected);
});

test('JSON in a pipe is one line', () => {
  const io = fakeIo();
  new Output(io).json({ a: [1, 2] });
  expect(io.out()).toBe('{"a":[1,2]}\n');
});

function clockAt(times: { monotonic: number }) {
  return {
    now: () => Date.UTC(2026, 0, 1) + times.monotonic,
    monotonic: () => times.monotonic,
    wait: async () => {},
  };
}

test('progress on a terminal is one line, redrawn at most ten times a second', () => {
  const { stream, text } = collector(true, 80);
  const times = { monotonic: 0 };
  const progress = new Progress('acme', new Stderr(stream), clockAt(times));
  for (; times.monotonic < 1000; times.monotonic += 10) progress.update({ pages: 1, rows: times.monotonic });
  progress.finish();
  expect(text().split('\r').length - 1).toBe(11);
  expect(text().endsWith('\n')).toBe(true);
  expect(text().split('\n')).toHaveLength(2);
});

test('output during progress is printed above the progress line, which is drawn again below it', () => {
  const { stream, text } = collector(true, 80);
  const times = { monotonic: 0 };
  const talk = new Stderr(stream);
  const progress = new Progress('sync', talk, clockAt(times));
  progress.update({ pages: 1, rows: 100 });
  talk.write('a line of the log\n');
  talk.write('the start of another');
  times.monotonic += 500;
  progress.update({ pages: 2, rows: 200 });
  talk.write(' and its end\n');
  progress.finish();
  talk.write('the last word\n');
  expect(screen(text())).toEqual([
    'a line of the log',
    'the start of another and its end',
    'sync  200 rows, 2 pages  400 rows/s',
    'the last word',
    '',
  ]);
});

/** Returns what a terminal shows: a carriage return goes to the start of the line, which is then cleared. */
function screen(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.slice(line.lastIndexOf('\r\u001b[K') + 1).replace('\u001b[K', ''));
}

test('progress without a terminal prints a plain line every half minute', () => {
  const { stream, text } = collector(false, 80);
  const times = { monotonic: 0 };
  const progress = new Progress('acme', new Stderr(stream), clockAt(times));
  for (; times.monotonic < 90_000; times.monotonic += 1000) progress.update({ pages: 1, rows: 5 });
  expect(text()).not.toContain('\r');
  expect(text().trim().split('\n')).toHaveLength(2);
});

test('progress on a dumb terminal has no control sequences', () => {
  const { stream, text } = collector(true, 40);
  const times = { monotonic: 0 };
  const progress = new Progress('acme', new Stderr(stream, { TERM: 'dumb' }), clockAt(times));
  for (; times.monotonic < 1000; times.monotonic += 10) progress.update({ pages: 1, rows: times.monotonic });
  progress.finish();
  expect(text()).toBe('acme  990 rows, 1 page  990 rows/s\n');
});

test('progress with a known total shows a bar, the speed and the time left', () => {
  const { stream, text } = collector(true, 120);
  const times = { monotonic: 0 };
  const progress = new Progress('acme', new Stderr(stream), clockAt(times));
  progress.update({ pages: 0, rows: 0 });
  times.monotonic = 10_000;
  progress.update({ pages: 10, rows: 1000, rowsTotal: 3000 });
  expect(text()).toContain('[######..............] 33 %  1,000 rows, 10 pages  100 rows/s  20 s left');
});

test.each([
  [0, '0 s'],
  [59_001, '1 min 0 s'],
  [61_000, '1 min 1 s'],
  [3_600_000, '1 h 0 min'],
  [5_460_000, '1 h 31 min'],
  [3_599_500, '1 h 0 min'],
  [86_399_000, '1 d 0 h'],
  [86_400_000 * 90 + 1, '90 d 1 h'],
])('a duration of %i ms is printed as %s', (millis, text) => {
  expect(duration(millis)).toBe(text);
});

test('a time in the future is shown as ahead of this clock, not as now', () => {
  const now = Date.UTC(2026, 0, 1);
  expect(
    [null, now - 90_000, now + 1_000, now + 90_000].map((at) =>
      ago(at === null ? null : new Date(at).toJSON(), now),
    ),
  ).toEqual(['never', '1 min 30 s ago', '0 s ago', '1 min 30 s ahead of this clock']);
});

test('counted uses the singular for one', () => {
  expect([0, 1, 2, 1_200].map((count) => counted(count, 'page'))).toEqual([
    '0 pages',
    '1 page',
    '2 pages',
    '1,200 pages',
  ]);
});

test('progress without a known total shows no bar and no remaining time', () => {
  expect(progressText('acme', { pages: 2, rows: 200 }, 1000)).toBe('acme  200 rows, 2 pages  200 rows/s');
});

test('numbers, amounts and times are never broken: a table too wide for them becomes blocks', () => {
  const columns = ['SOURCE', 'OUTCOME', 'ROWS', 'COMMITTED CENTS', 'RAISED CENTS', 'UP TO'].map((title) => ({
    title,
  }));
  const row = ['acme', 'equal', '1,234,567', '55,721,284,001', '24,693,113,299', '2026-11-23T12:09:47.308Z'];
  for (const width of [40, 60, 72, 80, 100, 120]) {
    const io = fakeIo({ tty: true, columns: width, env: { NO_COLOR: '1' } });
    new Output(io).table(columns, [row]);
    for (const cell of row) expect([width, io.out()]).toEqual([width, expect.stringContaining(cell)]);
    if (width > 41)
      expect(
        io
          .out()
          .split('\n')
          .filter((line) => line.length > width),
      ).toEqual([]);
  }
});

test('a progress line of a log says nothing of work that took less than half a minute', () => {
  const io = fakeIo();
  let now = 0;
  const clock = { now: () => now, monotonic: () => now, wait: async () => {} };
  const progress = new Output(io).progress('export', clock);
  progress.update({ pages: 0, rows: 1_000, rowsTotal: 2_728 });
  expect(io.err()).toBe('');
  now = 31_000;
  progress.update({ pages: 0, rows: 2_000, rowsTotal: 2_728 });
  expect(io.err()).toContain('73 %');
});

test('a finished progress line on a terminal shows the last state, not the last one that was drawn', () => {
  const io = fakeIo({ tty: true, env: { NO_COLOR: '1' } });
  const clock = { now: () => 0, monotonic: () => 0, wait: async () => {} };
  const progress = new Output(io).progress('export', clock);
  progress.update({ pages: 0, rows: 1_000, rowsTotal: 2_728 });
  progress.finish({ pages: 0, rows: 2_728, rowsTotal: 2_728 });
  expect(io.err().split('\r').at(-1)).toContain('100 %');
});

test('the age of a time that cannot be read is unknown', () => {
  expect(ago('garbage', 0)).toBe('unknown');
});
