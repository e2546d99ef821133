import type { Json, JsonObject } from '../../domain/json.js';
import {
  type ExemptionFamily,
  exemptionLabels,
  type SecurityType,
  securityLabels,
} from '../contract/vocabulary.js';
import { dollarsOf } from './money.js';

export const exemptionOf = (family: ExemptionFamily, subtype: '506b' | '506c' | null) => ({
  family,
  subtype,
  label: subtype === null ? exemptionLabels[family] : `${exemptionLabels[family]} 506(${subtype.at(-1)})`,
});

export const securityKindOf = (type: SecurityType) => ({ type, label: securityLabels[type] });

const money = (terms: JsonObject, key: string): string | null => {
  const cents = terms[key];
  return typeof cents === 'number' && cents !== 0 ? dollarsOf(cents) : null;
};
const plain = (terms: JsonObject, key: string): Json => terms[key] ?? null;
const flag = (terms: JsonObject, key: string): boolean => terms[key] === true;

/** The valuation cap is null when absent, never zero. */
const cap = (terms: JsonObject) => {
  const valuation_cap = money(terms, 'valuation_cap_cents');
  return { valuation_cap, uncapped: valuation_cap === null };
};

const termsOf: Readonly<Record<SecurityType, (terms: JsonObject) => object>> = {
  safe: (terms) => ({
    ...cap(terms),
    discount_percent: plain(terms, 'discount_percent'),
    most_favored_nation: flag(terms, 'most_favored_nation'),
    pro_rata: flag(terms, 'pro_rata'),
  }),
  equity: (terms) => ({
    share_price: money(terms, 'share_price_cents'),
    pre_money_valuation: money(terms, 'pre_money_valuation_cents'),
    share_class: plain(terms, 'share_class'),
  }),
  convertible_note: (terms) => ({
    ...cap(terms),
    discount_percent: plain(terms, 'discount_percent'),
    interest_rate_percent: plain(terms, 'interest_rate_percent'),
    maturity_months: plain(terms, 'maturity_months'),
    most_favored_nation: flag(terms, 'most_favored_nation'),
  }),
  revenue_share: (terms) => ({
    revenue_share_percent: plain(terms, 'revenue_share_percent'),
    repayment_cap_multiple: plain(terms, 'repayment_cap_multiple'),
    payment_period: plain(terms, 'payment_period'),
    revenue_basis: plain(terms, 'revenue_basis'),
    secured: flag(terms, 'secured'),
    guarantor: plain(terms, 'guarantor'),
  }),
  debt: (terms) => ({
    interest_rate_percent: plain(terms, 'interest_rate_percent'),
    maturity_months: plain(terms, 'maturity_months'),
    first_payment_date: plain(terms, 'first_payment_date'),
  }),
  fund: () => ({}),
  other: (terms) => ({
    name: plain(terms, 'name'),
    description: plain(terms, 'description'),
    more_info_url: plain(terms, 'more_info_url'),
  }),
};

export const securityOf = (type: SecurityType, terms: string) => ({
  ...securityKindOf(type),
  terms: termsOf[type](JSON.parse(terms) as JsonObject),
});
