import { decimalOfCents } from '../domain/money.js';
import { neutral, quoted } from './csv-cell.js';
import type { Cell, RowSource } from './ports.js';

export interface FounderCsvOptions {
  /** The campaign scope in the first line. */
  readonly scope?: string;
  readonly raw: boolean;
}

const byteOrderMark = '\uFEFF';

export function founderCsvName(companySlug: string): string {
  return `manage_investments_${companySlug}.csv`;
}

/**
 * Yields the file that founders download from the platform, rebuilt from records with the same columns, order and
 * spelling. It differs from the platform's file in scope (open raises and those closed within about 90 days) and in
 * text that looks like a formula, which is escaped for spreadsheets unless `raw` is set. Takes rows with the columns of
 * `roster`, newest `applied_at` first.
 */
export async function* founderCsv(
  source: RowSource,
  { scope = 'All Campaigns', raw }: FounderCsvOptions,
): AsyncGenerator<string> {
  const guard = raw ? (text: string) => text : neutral;
  const names = source.columns.map(({ name }) => name);
  yield `${byteOrderMark}${line([`Campaign Scope: ${scope}`])}\n`;
  yield line(founderColumns.map(({ title }) => title));
  for await (const row of source.rows()) {
    const record = new FounderRecord(new Map(names.map((name, index) => [name, row[index] ?? null])));
    yield line(founderColumns.map(({ cell, typed }) => (typed ? guard(cell(record)) : cell(record))));
  }
}

function line(cells: readonly string[]): string {
  return `${cells.map(quoted).join(',')}\n`;
}

/** Entries of lists are stored with the keys that the platform sent, which may be fewer. */
interface Blocker {
  readonly key?: string | null;
  readonly description?: string | null;
}

interface Contract {
  readonly name?: string | null;
  readonly early_bird?: boolean | null;
  readonly override_amount_cents?: number | null;
}

class FounderRecord {
  constructor(private readonly cells: ReadonlyMap<string, Cell>) {}

  text(name: string): string {
    return String(this.cells.get(name) ?? '');
  }
  flag(name: string): boolean {
    return this.cells.get(name) === 1;
  }
  cents(name: string): string {
    const cell = this.cells.get(name) ?? null;
    return cell === null ? '' : founderAmount(BigInt(cell));
  }
  get blockers(): readonly Blocker[] {
    return JSON.parse(this.text('blockers')) as Blocker[];
  }
  get contracts(): readonly Contract[] {
    return JSON.parse(this.text('contracts')) as Contract[];
  }
}

interface FounderColumn {
  readonly title: string;
  readonly cell: (record: FounderRecord) => string;
  /** Whether people typed it, so that it might begin like a formula. */
  readonly typed: boolean;
}

const typed = (title: string, cell: FounderColumn['cell']): FounderColumn => ({ title, cell, typed: true });
const made = (title: string, cell: FounderColumn['cell']): FounderColumn => ({ title, cell, typed: false });
const yesNo = (yes: boolean | null | undefined): string => (yes === true ? 'Yes' : 'No');

const founderColumns: readonly FounderColumn[] = [
  made('Investment External ID', (record) => record.text('id')),
  typed('Investor Legal Name', (record) => record.text('legal_name') || record.text('name')),
  typed('User', (record) => record.text('name')),
  typed('Email', (record) => (record.flag('email_hidden') ? '' : record.text('email'))),
  made('Via Entity', (record) => yesNo(record.flag('via_entity'))),
  typed('Investment Group', (record) => record.text('group_label')),
  made('Date (UTC)', (record) => record.text('applied_at').slice(0, 19).replace('T', ' ')),
  made('Investment Amount', (record) => record.cents('committed_cents')),
  made('Effective share count', (record) => truncatedShares(record.text('shares'))),
  made('Current price per share', (record) => record.text('average_share_price')),
  made('Amount in Escrow', (record) => record.cents('in_escrow_cents')),
  made('Needs Whitelisting', (record) => (record.flag('needs_whitelisting') ? 'Yes' : '')),
  typed('Investment Type', (record) => record.text('investment_type')),
  typed('Offering Type', (record) => record.text('offering_type')),
  typed('Postal Code', (record) => record.text('postal_code')),
  typed('Country', (record) => record.text('country')),
  typed('State', (record) => record.text('state')),
  typed('City', (record) => record.text('city')),
  typed('Address', (record) => record.text('address_line')),
  typed('Bio', (record) => record.text('bio')),
  typed('Message', (record) => record.text('message')),
  typed('Blockers', ({ blockers }) => blockers.map(({ key }) => key).join('\n')),
  typed('Blocker Descriptions', ({ blockers }) =>
    blockers.map((blocker) => blocker.description ?? '').join('\n'),
  ),
  typed('External Username', (record) => record.text('external_username')),
  made('Early Bird', ({ contracts }) => contracts.map((contract) => yesNo(contract.early_bird)).join('\n')),
  typed('Contract Name', ({ contracts }) => contracts.map(({ name }) => name ?? '').join('\n')),
  made('Contract Override Amount', ({ contracts }) =>
    contracts
      .map(({ override_amount_cents: cents }) => (cents == null ? '' : founderAmount(BigInt(cents))))
      .join('\n'),
  ),
];

/** The names of the columns, in their order. */
export const founderTitles: readonly string[] = founderColumns.map(({ title }) => title);

/** Formats money as the founder file does: at least one digit after the point, and no unnecessary zero. */
export const founderAmount = (cents: bigint): string => decimalOfCents(cents).replace(/0$/, '');

/** Truncates, without rounding, to two digits after the point and removes trailing zeros. */
export function truncatedShares(shares: string): string {
  const match = /^(-?\d+)(?:\.(\d+))?$/.exec(shares);
  if (match === null) return shares;
  const fraction = (match[2] ?? '').slice(0, 2).replace(/0+$/, '');
  return fraction === '' ? (match[1] ?? '') : `${match[1]}.${fraction}`;
}
