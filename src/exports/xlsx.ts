import { Fault } from '../domain/fault.js';
import { type Instant, millisOf } from '../domain/instant.js';
import { decimalOfCents } from '../domain/money.js';
import type { Cell, ExportColumn, RowSource } from './ports.js';
import { type ZipEntry, zip } from './zip.js';

export interface WorkbookOptions {
  /** Name of the first sheet. Further ones have a number behind it. */
  readonly sheet: string;
  /** Rows of a sheet, with its header. Only tests lower it. */
  readonly rowsMax?: number;
}

/** The most rows that Excel opens. */
const sheetRowsMax = 1_048_576;
/** A sheet ends at this size: the sizes in a zip archive have 32 bits. */
const sheetCharactersMax = 1_000_000_000;
/** The most characters that Excel allows in a cell. */
const cellCharactersMax = 32_767;
/** Excel calculates with doubles: a number with more digits would silently be rounded. */
const digitsMax = 15;

/**
 * Yields an Excel workbook (.xlsx) in constant memory. Its header is frozen and filterable. Amounts in cents become
 * money with two decimals under the name without `_cents`; times become dates in UTC, flags TRUE or FALSE. A number
 * that Excel would round is written as text. More rows than a sheet can have continue on the next one. Text is never a
 * formula. Throws `usage` for text longer than a cell may be.
 */
export function xlsx(source: RowSource, options: WorkbookOptions): AsyncGenerator<Uint8Array> {
  return zip(partsOf(source, options));
}

async function* partsOf(
  { columns, rows }: RowSource,
  { sheet, rowsMax = sheetRowsMax }: WorkbookOptions,
): AsyncGenerator<ZipEntry> {
  const encoders = columns.map((column, at) => encoderOf(column, letters(at)));
  const iterator = rows()[Symbol.asyncIterator]();
  try {
    let sheets = 0;
    let next = await iterator.next();
    const written = { rows: 0 };
    const rowsOfSheet = async function* () {
      yield sheetStart(columns);
      let row = 1;
      let characters = 0;
      while (next.done !== true && row < rowsMax && characters < sheetCharactersMax) {
        const cells = next.value;
        row += 1;
        written.rows += 1;
        let line = `<row r="${row}">`;
        encoders.forEach((encode, at) => {
          line += encode(cells[at] ?? null, row, written.rows);
        });
        line += '</row>';
        characters += line.length;
        yield line;
        next = await iterator.next();
      }
      yield sheetEnd(columns.length, row);
    };
    do {
      sheets += 1;
      yield { name: `xl/worksheets/sheet${sheets}.xml`, pieces: rowsOfSheet() };
    } while (next.done !== true);
    const names = Array.from({ length: sheets }, (_, at) => sheetName(sheet, at));
    for (const [name, text] of bookParts(names)) yield { name, pieces: [text] };
  } finally {
    // Ends the reading when the workbook is given up.
    await iterator.return?.();
  }
}

const xmlHead = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const mainSpace = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const officeSpace = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const packageSpace = 'http://schemas.openxmlformats.org/package/2006';
const contentType = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

/** Positions in `cellXfs` of the style sheet. */
const styles = { header: 1, money: 2, time: 3, number: 4 } as const;

const styleSheet = `${xmlHead}<styleSheet xmlns="${mainSpace}"><numFmts count="1"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd hh:mm:ss"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="5"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/><xf numFmtId="4" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`;

function* bookParts(names: readonly string[]): Generator<readonly [string, string]> {
  const numbers = names.map((_, at) => at + 1);
  const sheets = names.map(
    (name, at) => `<sheet name="${escaped(name)}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`,
  );
  yield [
    'xl/workbook.xml',
    `${xmlHead}<workbook xmlns="${mainSpace}" xmlns:r="${officeSpace}"><sheets>${sheets.join('')}</sheets></workbook>`,
  ];
  const targets = numbers.map(
    (number) =>
      `<Relationship Id="rId${number}" Type="${officeSpace}/worksheet" Target="worksheets/sheet${number}.xml"/>`,
  );
  const stylesId = `<Relationship Id="rId${names.length + 1}" Type="${officeSpace}/styles" Target="styles.xml"/>`;
  yield [
    'xl/_rels/workbook.xml.rels',
    `${xmlHead}<Relationships xmlns="${packageSpace}/relationships">${targets.join('')}${stylesId}</Relationships>`,
  ];
  yield ['xl/styles.xml', styleSheet];
  yield [
    '_rels/.rels',
    `${xmlHead}<Relationships xmlns="${packageSpace}/relationships"><Relationship Id="rId1" Type="${officeSpace}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  ];
  const parts = numbers.map(
    (number) =>
      `<Override PartName="/xl/worksheets/sheet${number}.xml" ContentType="${contentType}.worksheet+xml"/>`,
  );
  yield [
    '[Content_Types].xml',
    `${xmlHead}<Types xmlns="${packageSpace}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${contentType}.sheet.main+xml"/>${parts.join('')}<Override PartName="/xl/styles.xml" ContentType="${contentType}.styles+xml"/></Types>`,
  ];
}

function sheetStart(columns: readonly ExportColumn[]): string {
  const widths = columns.map(
    ({ name, kind }, at) =>
      `<col min="${at + 1}" max="${at + 1}" width="${widthOf(name, kind)}" customWidth="1"/>`,
  );
  const titles = columns.map(
    (column, at) =>
      `<c r="${letters(at)}1" s="${styles.header}" t="inlineStr"><is><t>${escaped(titleOf(column))}</t></is></c>`,
  );
  return `${xmlHead}<worksheet xmlns="${mainSpace}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>${widths.length === 0 ? '' : `<cols>${widths.join('')}</cols>`}<sheetData><row r="1">${titles.join('')}</row>`;
}

function sheetEnd(columns: number, rows: number): string {
  const filter = columns === 0 ? '' : `<autoFilter ref="A1:${letters(columns - 1)}${rows}"/>`;
  return `</sheetData>${filter}</worksheet>`;
}

function widthOf(name: string, kind: ExportColumn['kind']): number {
  const content = { text: 18, json: 18, number: 14, decimal: 14, real: 14, flag: 8, time: 20 }[kind];
  return Math.max(content, Math.min(30, name.length + 4));
}

/** Excel allows 31 characters and no brackets, colons or slashes. */
function sheetName(name: string, at: number): string {
  const end = at === 0 ? '' : ` ${at + 1}`;
  const plain = name.replaceAll(/[[\]:*?/\\]/g, ' ').replaceAll(/^'+|'+$/g, '');
  return `${plain.slice(0, 31 - end.length) || 'Sheet'}${end}`;
}

const centsEnd = /_cents(?=_|$)/;
const isMoney = ({ name, kind }: ExportColumn): boolean => kind === 'number' && centsEnd.test(name);

/** Names a column of the sheet: an amount is not in cents there. */
export const titleOf = (column: ExportColumn): string =>
  isMoney(column) ? column.name.replace(centsEnd, '') : column.name;

type Encode = (cell: Cell, row: number, record: number) => string;

function encoderOf(column: ExportColumn, letter: string): Encode {
  const content = contentOf(column);
  return (cell, row, record) => (cell === null ? '' : content(cell, `${letter}${row}`, record));
}

type Content = (cell: NonNullable<Cell>, reference: string, record: number) => string;

function contentOf(column: ExportColumn): Content {
  const text: Content = (cell, reference, record) => textCell(String(cell), reference, column.name, record);
  const number =
    (style: number, shown: (cell: NonNullable<Cell>) => string): Content =>
    (cell, reference, record) => {
      const value = shown(cell);
      return isExact(value)
        ? `<c r="${reference}" s="${style}"><v>${value}</v></c>`
        : text(value, reference, record);
    };
  if (isMoney(column)) return number(styles.money, (cell) => decimalOfCents(BigInt(cell)));
  switch (column.kind) {
    case 'number':
    case 'decimal':
      return number(styles.number, String);
    case 'real':
      // A double in the mirror and in Excel.
      return (cell, reference, record) =>
        Number.isFinite(Number(cell))
          ? `<c r="${reference}" s="${styles.number}"><v>${cell}</v></c>`
          : text(cell, reference, record);
    case 'flag':
      return (cell, reference) => `<c r="${reference}" t="b"><v>${Number(cell) === 0 ? 0 : 1}</v></c>`;
    case 'time':
      return (cell, reference, record) => {
        const serial = serialOf(String(cell));
        return serial === null
          ? text(cell, reference, record)
          : `<c r="${reference}" s="${styles.time}"><v>${serial}</v></c>`;
      };
    default:
      return text;
  }
}

const plainNumber = /^-?(\d+)(?:\.(\d+))?$/;

function isExact(text: string): boolean {
  const [, whole = '', fraction = ''] = plainNumber.exec(text) ?? [];
  const significant = `${whole}${fraction.replace(/0+$/, '')}`.replace(/^0+/, '');
  return whole !== '' && significant.length <= digitsMax;
}

const dayMillis = 86_400_000;
/** Day 0 of Excel, for days after its invented 1900-02-29. */
const epochMillis = Date.UTC(1899, 11, 30);
const firstMillis = Date.UTC(1900, 2, 1);

/** Returns the number of days since 1899-12-30; null for what Excel cannot show as a date. */
function serialOf(instant: string): string | null {
  const millis = millisOf(instant as Instant);
  if (Number.isNaN(millis) || millis < firstMillis) return null;
  return String(Number(((millis - epochMillis) / dayMillis).toFixed(10)));
}

function textCell(text: string, reference: string, name: string, record: number): string {
  if (text.length > cellCharactersMax)
    throw new Fault(
      'usage',
      `${name} of row ${record} has ${text.length} characters; a cell of Excel has at most ${cellCharactersMax}; no file was written`,
      { hint: 'CSV, JSON Lines and Parquet write it whole.' },
    );
  const space = /^\s|\s$|[\n\r\t]/.test(text) ? ' xml:space="preserve"' : '';
  return `<c r="${reference}" t="inlineStr"><is><t${space}>${escaped(text)}</t></is></c>`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** What would be read as an escape, too: its last underscore may be that of the next one. */
const unwritable = /[&<>"]|[^\t\n\u0020-\ufffd]|_(?=x[\dA-Fa-f]{4}(?:_|[^\t\n\u0020-\ufffd]))/g;

/** Escapes as the format requires: a character that XML has no place for becomes `_xHHHH_`. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(
      unwritable,
      (found) => entities[found] ?? `_x${found.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
    );
}

/** Returns the letters of a column: A, …, Z, AA, … */
function letters(at: number): string {
  const last = String.fromCharCode(65 + (at % 26));
  return at < 26 ? last : `${letters(Math.floor(at / 26) - 1)}${last}`;
}
