import { iso } from '../http/timestamps.js';
import type { State } from '../state/database.js';
import { centsOfSum } from '../state/exact-sum.js';
import { wholeDollars } from '../syndicates/present.js';
import { everyMember } from './listing.js';
import type { Member } from './model.js';
import { listOf, locationOf, type MemberLocation } from './present.js';

type Cell = (row: Member) => string;

const yes = (value: number | null): string => (value === 1 ? 'Yes' : '');
const place = (row: Member, part: keyof MemberLocation): string => locationOf(row)[part] ?? '';

/** The columns in file order. Data that a member hides on the site is not exported. */
const columns: readonly (readonly [heading: string, cell: Cell])[] = [
  ['Member ID', (row) => row.id],
  ['Name', (row) => row.name ?? ''],
  ['Legal Name', (row) => row.legal_name ?? ''],
  ['Email', (row) => row.email ?? ''],
  ['Role', (row) => row.role],
  ['Permission', (row) => row.permission ?? ''],
  ['Title', (row) => row.title ?? ''],
  ['Accredited', (row) => yes(row.accredited)],
  ['City', (row) => place(row, 'city')],
  ['State', (row) => place(row, 'state')],
  ['Country', (row) => place(row, 'country')],
  ['Tags', (row) => listOf(row.tags).join('\n')],
  ['Private Tags', (row) => listOf(row.private_tags).join('\n')],
  ['Starred', (row) => yes(row.starred)],
  ['Investment Total', (row) => wholeDollars(centsOfSum(row.invested))],
  ['Deals', (row) => String(row.deal_count)],
  [
    'Carry Override',
    (row) => (row.carry_percentage_override === null ? '' : String(row.carry_percentage_override)),
  ],
  ['Joined At (UTC)', (row) => iso(row.created_at).slice(0, 19).replace('T', ' ')],
];

/** Returns CSV as in RFC 4180, but with line feeds, in UTF-8 with a byte order mark for spreadsheets. */
export function membersCsv(state: State, syndicateNo: number): string {
  const lines = [
    columns.map(([heading]) => heading),
    ...everyMember(state, syndicateNo).map((row) => columns.map(([, cell]) => cell(row))),
  ];
  return `\uFEFF${lines.map((cells) => cells.map(written).join(',')).join('\n')}\n`;
}

/** Matches text that a spreadsheet would run as a formula. A leading quote makes it plain text. */
const startsFormula = /^[\s\0]*[=+\-@]|^[\t\r\n\0]/;

function written(text: string): string {
  const safe = startsFormula.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
