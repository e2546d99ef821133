import { type Cents, decimalOfCents } from '../domain/money.js';

export interface NoticeState {
  readonly status: string | null;
  readonly group_label: string | null;
  readonly committed_cents: Cents | null;
  /** That of `committed_cents`; absent in notices of 0.2 and earlier, whose `currency` is that of both states. */
  readonly currency?: string | null;
}

/**
 * A notice as receivers get it, in JSON. Its field names are a public contract. It has ids, amounts and the
 * names of company and round, never the name of a person.
 */
export interface Notice {
  readonly type: 'investment.added' | 'investment.changed' | 'investment.removed';
  readonly source: string;
  readonly id: string;
  readonly company_id: string | null;
  readonly offering_id: string | null;
  /** What company and round are called; null while unknown, and absent in notices of versions before 0.2. */
  readonly company_name?: string | null;
  readonly round_name?: string | null;
  /** `changes.seq` of the last change it reports. */
  readonly seq: number;
  readonly at: string;
  /** After the change; of a removed record, its last one. */
  readonly currency: string | null;
  readonly converted_from: string | null;
  readonly before: NoticeState | null;
  readonly after: NoticeState | null;
  /** The same in one line of text, for people. */
  readonly text: string;
}

export type NoticeContent = Omit<Notice, 'text' | 'type'>;

export function noticeOf(content: NoticeContent): Notice {
  const { before, after } = content;
  const type =
    before === null ? 'investment.added' : after === null ? 'investment.removed' : 'investment.changed';
  return { type, ...content, text: textOf(content) };
}

/** Returns whether the two states differ in a field that notices report. */
export function hasDifference({ before, after }: Pick<NoticeContent, 'before' | 'after'>): boolean {
  if (before === null || after === null) return before !== after;
  return fields.some((field) => differs(before, after, field));
}

/** A commitment of the same number in another currency is another one. */
function differs(before: NoticeState, after: NoticeState, field: (typeof fields)[number]): boolean {
  if (before[field] !== after[field]) return true;
  return field === 'committed_cents' && before[field] !== null && inOtherCurrency(before, after);
}

/** A currency that was or is unknown is no other one. */
const inOtherCurrency = (before: NoticeState, after: NoticeState): boolean =>
  before.currency != null && after.currency != null && before.currency !== after.currency;

const fields = ['status', 'group_label', 'committed_cents'] as const;

function textOf(content: NoticeContent): string {
  const { source, id, before, after, currency, converted_from, round_name } = content;
  const round = round_name == null ? '' : ` in ${round_name}`;
  const money = (state: NoticeState | null) =>
    amount(state?.committed_cents ?? null, state?.currency === undefined ? currency : state.currency);
  const where = `${source}: `;
  if (before === null && after !== null) {
    const what =
      converted_from !== null
        ? `${converted_from} was converted to ${id}${round}`
        : `new ${after.status === 'reserved' ? 'reservation' : 'investment'} ${id}${round}`;
    return `${where}${what}, ${money(after)}, ${standing(after)}`;
  }
  if (after === null)
    return `${where}investment ${id}${round} is gone, was ${money(before)}, ${standing(before)}`;
  const parts = fields.flatMap((field) => {
    if (before === null || !differs(before, after, field)) return [];
    if (field === 'committed_cents') return [`commitment ${money(before)} → ${money(after)}`];
    return [
      `${field === 'status' ? 'status' : 'group'} ${before[field] ?? 'none'} → ${after[field] ?? 'none'}`,
    ];
  });
  const converted = converted_from === null ? [] : [`converted from ${converted_from}`];
  return `${where}investment ${id}${round}: ${[...converted, ...parts].join(', ')}`;
}

function standing(state: NoticeState | null): string {
  return [state?.status, state?.group_label].filter((text) => text != null).join(', ') || 'no status';
}

function amount(cents: Cents | null, currency: string | null): string {
  if (cents === null) return 'no amount';
  const grouped = decimalOfCents(cents).replace(/\B(?=(\d{3})+\.)/g, ',');
  return `${grouped} ${(currency ?? '').toUpperCase()}`.trim();
}
