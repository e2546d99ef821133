import { defined } from '../../domain/defined.js';
import type { Json, JsonObject } from '../../domain/json.js';
import type { investmentStatusNames } from '../contract/investments.js';
import { mergeDeeply } from './merge.js';

/** The input of a record: the investment with its offering, company and investor. */
export interface Source {
  readonly no: number;
  readonly id: string;
  readonly company_no: number;
  readonly company_id: string;
  readonly offering_no: number;
  readonly offering_id: string;
  readonly investor_no: number;
  readonly investor_id: string;
  readonly status: InvestmentStatus;
  readonly group_label: string | null;
  readonly entity_name: string | null;
  readonly committed_cents: number;
  readonly in_escrow_cents: number | null;
  readonly applied_at: number;
  readonly canceled_at: number | null;
  readonly message: string | null;
  readonly external_username: string | null;
  readonly blockers: string;
  readonly contracts: string;
  readonly converted_to: string | null;
  readonly converted_from: string | null;
  readonly hidden: number;
  readonly deleted_at: number | null;
  readonly overrides: string | null;
  readonly currency: string;
  readonly investment_type: string;
  readonly offering_type: string;
  readonly share_price_cents: number | null;
  readonly name: string;
  readonly legal_name: string;
  readonly email: string;
  readonly address: string | null;
  readonly bio: string | null;
  readonly deactivated_at: number | null;
}

export type InvestmentStatus = (typeof investmentStatusNames)[number];

export interface Derived {
  /** The record without identity fields. */
  readonly content: JsonObject;
  /** The fields that require `read:investors:pii`, nested as in the record. */
  readonly identity: JsonObject;
  /** Whether founders see the record. */
  readonly visible: boolean;
  /** Whether the record is deleted for everyone, including the investor. */
  readonly gone: boolean;
  readonly raisedCents: number;
}

const identityKeys: ReadonlySet<string> = new Set(['message', 'external_username']);

/** Derives the record of an investment. Pure, so that publishing and reading a single record give the same result. */
export function derive(source: Omit<Source, 'no'>): Derived {
  const gone = source.deleted_at !== null;
  const visible = !gone && source.hidden === 0 && !['canceled', 'converted'].includes(source.status);
  const size = sizeOf(source);
  const deactivated = source.deactivated_at !== null;
  const raisedCents = countsAsRaised(source) ? size.cents : 0;
  const content: JsonObject = {
    id: source.id,
    visible,
    status: source.status,
    converted_to: source.converted_to,
    converted_from: source.converted_from,
    offering: source.offering_id,
    company: source.company_id,
    investment_type: source.investment_type,
    offering_type: source.offering_type,
    group: source.group_label,
    applied_at: new Date(source.applied_at).toISOString(),
    amounts: {
      currency: source.currency,
      committed_cents: source.committed_cents,
      investment_size_cents: size.cents,
      in_escrow_cents: source.in_escrow_cents,
      raised_cents: raisedCents,
    },
    shares: size.shares,
    average_share_price: size.price,
    needs_whitelisting: source.status === 'needs_whitelisting',
    investor: { id: source.investor_id, deactivated, via_entity: source.entity_name !== null },
    blockers: listOf(source.blockers),
    contracts: listOf(source.contracts),
  };
  const identity: JsonObject = {
    external_username: deactivated ? null : source.external_username,
    message: deactivated ? null : source.message,
    investor: deactivated
      ? { name: '[deleted user]', legal_name: '[deleted user]', email: null, address: null, bio: null }
      : {
          name: source.name,
          legal_name: source.entity_name ?? source.legal_name,
          email: source.email,
          address: source.address === null ? null : (JSON.parse(source.address) as Json),
          bio: source.bio,
        },
  };
  return overridden({ content, identity, visible, gone, raisedCents }, source.overrides);
}

/** Most lists are empty, and a large world has a million of them. */
const listOf = (text: string): Json => (text === '[]' ? [] : (JSON.parse(text) as Json));

/** Applies fields set by a control call. Fields inside `investor` are identity and are applied there. */
function overridden(derived: Derived, overrides: string | null): Derived {
  if (overrides === null) return derived;
  const { investor, ...rest } = JSON.parse(overrides) as JsonObject;
  const own = Object.entries(rest).filter(([key]) => !identityKeys.has(key));
  const content = mergeDeeply(derived.content, Object.fromEntries(own));
  const identity = mergeDeeply(derived.identity, defined({ investor }));
  const raised = (content.amounts as JsonObject).raised_cents;
  return { ...derived, content, identity, raisedCents: typeof raised === 'number' ? raised : 0 };
}

/** Counts soft-confirmed commitments. Reservations, unpaid and held-back commitments do not count. */
function countsAsRaised(source: Omit<Source, 'no'>): boolean {
  if (source.status === 'executed') return true;
  return (
    source.status === 'active' && (source.group_label === 'IS READY' || source.group_label === 'CONFIRMED')
  );
}

/** Shares are sold in halves. The size is rounded down to a whole number of half shares. */
function sizeOf(source: Omit<Source, 'no'>): { cents: number; shares: string | null; price: string | null } {
  const price = source.share_price_cents;
  if (price === null || source.status === 'reserved') {
    return { cents: source.committed_cents, shares: null, price: null };
  }
  // A remainder is exact for every integer, a quotient is rounded.
  const rest = source.committed_cents % price;
  const inWhole = source.committed_cents - rest;
  const hasHalf = rest * 2 >= price;
  return {
    cents: inWhole + (hasHalf ? Math.floor(price / 2) : 0),
    shares: `${inWhole / price}${hasHalf ? '.5' : ''}`,
    price: `${Math.floor(price / 100)}.${String(price % 100).padStart(2, '0')}`,
  };
}
