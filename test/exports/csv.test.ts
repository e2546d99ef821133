import { describe, expect, test } from 'vitest';
import { csv } from '../../src/exports/csv.js';
import { jsonLines } from '../../src/exports/json-lines.js';
import type { Cell } from '../../src/exports/ports.js';
import fc from '../support/property.js';
import { rowSource, whole } from './rows.js';

const columns = [
  { name: 'name', kind: 'text' },
  { name: 'cents', kind: 'number' },
  { name: 'shares', kind: 'decimal' },
  { name: 'extra', kind: 'json' },
] as const;

const asCsv = (rows: readonly (readonly Cell[])[], raw = false) =>
  whole(csv(rowSource(columns, rows), { raw }));

/** An RFC 4180 parser for these tests, independent of the writer. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const row: string[] = [];
    for (;;) {
      const match = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/.exec(text.slice(at));
      if (match === null) throw new Error(`not CSV at ${at}`);
      row.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
      at += match[0].length;
      if (match[3] === '\r\n') break;
    }
    rows.push(row);
  }
  return rows;
}

describe('CSV', () => {
  test('CSV has a header, quotes only where necessary, and distinguishes null from empty text', async () => {
    expect(
      await asCsv([
        ['Ann "A", Ltd', 5, '1.50', '{"a":1}'],
        ['', null, null, null],
        ['plain', -5, '-0.5', null],
      ]),
    ).toBe('name,cents,shares,extra\r\n"Ann ""A"", Ltd",5,1.50,"{""a"":1}"\r\n"",,,\r\nplain,-5,-0.5,\r\n');
  });

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1+1', '＋1', '－1', '＠SUM(A1)'])(
    '%j typed by a person stays text',
    async (text) => {
      const [, row] = parseCsv(await asCsv([[text, 1, null, null]]));
      expect(row?.[0]).toBe(`'${text}`);
    },
  );

  test('every character that Unicode makes equal to the beginning of a formula is escaped', async () => {
    const looks = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code)).filter((letter) =>
      /^[=+\-@]/.test(letter.normalize('NFKC')),
    );
    expect(looks.length).toBeGreaterThan(14);
    const rows = parseCsv(await asCsv(looks.map((letter) => [`${letter}1`, 1, null, null])));
    expect(rows.slice(1).map(([text]) => text)).toEqual(looks.map((letter) => `'${letter}1`));
  });

  test('a decimal that is not a number is escaped, and raw text never is', async () => {
    expect(parseCsv(await asCsv([['x', 1, '-1+cmd', null]]))[1]?.[2]).toBe("'-1+cmd");
    expect(parseCsv(await asCsv([['=1', 1, '-1+cmd', null]], true))[1]).toEqual(['=1', '1', '-1+cmd', '']);
  });

  test('integers in CSV keep every digit', async () => {
    const [, row] = parseCsv(await asCsv([['x', 9223372036854775807n, null, null]]));
    expect(row?.[1]).toBe('9223372036854775807');
  });

  test('any text round-trips through CSV except for the escape, and any number unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.maxSafeInteger(), async (text, cents) => {
        const [, row] = parseCsv(await asCsv([[text, cents, null, null]]));
        const isFormula = /^[=+\-@\t\r\n\0]/.test(text.slice(0, 1).normalize('NFKC'));
        expect(row?.[0]).toBe(isFormula ? `'${text}` : text);
        expect(row?.[1]).toBe(String(cents));
      }),
      { numRuns: 300 },
    );
  });
});

describe('JSON Lines', () => {
  test('each line is an object with every column, JSON columns as JSON and exact integers', async () => {
    const text = await whole(
      jsonLines(
        rowSource(columns, [
          ['line\nbreak "x"', 9007199254740993n, '1.50', '{"a":[1]}'],
          [null, -1, null, null],
        ]),
      ),
    );
    expect(text).toBe(
      '{"name":"line\\nbreak \\"x\\"","cents":9007199254740993,"shares":"1.50","extra":{"a":[1]}}\n' +
        '{"name":null,"cents":-1,"shares":null,"extra":null}\n',
    );
    for (const line of text.trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  });
});
