import type { JsonObject } from '../../../domain/json.js';
import type { SecurityType } from '../../contract/vocabulary.js';

export interface RoundPlan {
  readonly status: 'upcoming' | 'open' | 'closed' | 'canceled';
  readonly exemption: 'reg_cf' | 'reg_d' | 'ecsp';
  readonly subtype?: '506b' | '506c';
  readonly security: SecurityType;
  readonly terms: JsonObject;
  readonly reservations?: boolean;
  readonly currency?: 'usd' | 'eur';
  readonly sharePriceCents?: number;
  readonly targetCents: number;
  readonly minCents: number;
  readonly startedDaysAgo: number;
  readonly closesInDays?: number;
  readonly closedDaysAgo?: number;
  /** Number of backers, each with an investment of `eachCents`. */
  readonly backers: number;
  readonly eachCents: number;
  readonly outcome?: {
    readonly status: 'active' | 'exited' | 'failed';
    readonly reason?: string;
    readonly on?: string;
    readonly valuePpm: number;
  };
}

export interface DirectoryEntry {
  readonly name: string;
  readonly slug: string;
  readonly tagline: string;
  readonly audience?: 'everyone' | 'accredited' | 'vault';
  readonly unapproved?: boolean;
  readonly hidden?: boolean;
  readonly unpromoted?: boolean;
  readonly industries: readonly string[];
  readonly models: readonly string[];
  readonly rounds: readonly RoundPlan[];
  readonly reportedCents?: number;
}

const thousand = 100_000;
const million = 1000 * thousand;

const safe = {
  valuation_cap_cents: 8 * million,
  discount_percent: '20',
  most_favored_nation: false,
  pro_rata: true,
};
const uncapped = { discount_percent: '15', most_favored_nation: true, pro_rata: false };
const equity = { share_price_cents: 250, pre_money_valuation_cents: 20 * million, share_class: 'preferred' };
const note = {
  valuation_cap_cents: 12 * million,
  discount_percent: '10',
  interest_rate_percent: '6',
  maturity_months: 24,
};
const revenue = {
  revenue_share_percent: '4',
  repayment_cap_multiple: '1.5',
  payment_period: 'quarterly',
  revenue_basis: 'gross',
  secured: false,
};
const debt = { interest_rate_percent: '9.5', maturity_months: 36 };

const open = (security: SecurityType, terms: JsonObject, more: Partial<RoundPlan>): RoundPlan => ({
  status: 'open',
  exemption: 'reg_cf',
  security,
  terms,
  targetCents: 50 * thousand,
  minCents: 10_000,
  startedDaysAgo: 30,
  backers: 3,
  eachCents: thousand,
  ...more,
});

const closed = (security: SecurityType, terms: JsonObject, more: Partial<RoundPlan>): RoundPlan =>
  open(security, terms, { status: 'closed', startedDaysAgo: 500, closedDaysAgo: 320, backers: 4, ...more });

/** One company of each kind in the catalog, so that every filter and visibility rule has an example. */
export const directory: readonly DirectoryEntry[] = [
  {
    name: 'Harbour Lanterns',
    slug: 'harbour-lanterns',
    tagline: 'Solar lanterns for fishing boats',
    industries: ['energy', 'clean_tech', 'hardware'],
    models: ['b2c', 'ecommerce'],
    rounds: [
      closed('safe', uncapped, { outcome: { status: 'active', valuePpm: 1_400_000 } }),
      open('safe', safe, { closesInDays: 40, backers: 8, eachCents: 5 * thousand, startedDaysAgo: 20 }),
    ],
    reportedCents: 250 * thousand,
  },
  {
    name: 'Quiet Orchard',
    slug: 'quiet-orchard',
    tagline: 'Cider from orchards nobody picks',
    industries: ['food_and_beverage', 'alcohol_and_vice'],
    models: ['retail', 'subscription'],
    rounds: [open('equity', equity, { sharePriceCents: 250, closesInDays: 6, backers: 9, minCents: 25_000 })],
  },
  {
    name: 'Tidal Ledger',
    slug: 'tidal-ledger',
    tagline: 'Bookkeeping that follows the tide of a small business',
    unpromoted: true,
    industries: ['fintech_and_finance', 'devtools'],
    models: ['b2b', 'saas'],
    rounds: [
      open('convertible_note', note, {
        exemption: 'reg_d',
        subtype: '506c',
        backers: 5,
        eachCents: 20 * thousand,
        minCents: 5 * thousand,
        startedDaysAgo: 90,
      }),
    ],
  },
  {
    name: 'Copper Kettle Rail',
    slug: 'copper-kettle-rail',
    tagline: 'Night trains with a kitchen',
    industries: ['transportation', 'travel_and_tourism'],
    models: ['b2c', 'service'],
    rounds: [
      open('revenue_share', revenue, {
        exemption: 'ecsp',
        currency: 'eur',
        closesInDays: 75,
        backers: 6,
        eachCents: 3 * thousand,
      }),
    ],
  },
  {
    name: 'Paper Kites',
    slug: 'paper-kites',
    tagline: 'A school for makers, testing the waters',
    industries: ['education', 'edtech'],
    models: ['b2c', 'marketplace'],
    rounds: [
      open('safe', {}, { reservations: true, backers: 6, eachCents: 2 * thousand, startedDaysAgo: 12 }),
    ],
  },
  {
    name: 'Lumen Works',
    slug: 'lumen-works',
    tagline: 'Optics for accredited patience',
    audience: 'accredited',
    industries: ['science_and_r_and_d'],
    models: ['b2b'],
    rounds: [
      open('debt', debt, { exemption: 'reg_d', subtype: '506c', backers: 5, eachCents: 30 * thousand }),
    ],
  },
  {
    name: 'Vaulted Arch',
    slug: 'vaulted-arch',
    tagline: 'Shown to few',
    audience: 'vault',
    industries: ['real_estate'],
    models: ['b2b'],
    rounds: [open('fund', {}, { exemption: 'reg_d', subtype: '506c', backers: 4, eachCents: 50 * thousand })],
  },
  {
    name: 'Private Pastures',
    slug: 'private-pastures',
    tagline: 'Offered to friends of the herd',
    industries: ['agriculture_and_agtech'],
    models: ['b2b'],
    rounds: [
      open('equity', equity, {
        exemption: 'reg_d',
        subtype: '506b',
        sharePriceCents: 400,
        backers: 4,
        eachCents: 10 * thousand,
      }),
    ],
  },
  {
    name: 'Unproven Umbrellas',
    slug: 'unproven-umbrellas',
    tagline: 'Waiting for approval',
    unapproved: true,
    industries: ['fashion'],
    models: ['retail'],
    rounds: [open('safe', safe, { backers: 3 })],
  },
  {
    name: 'First Sparks',
    slug: 'first-sparks',
    tagline: 'One backer so far',
    industries: ['games'],
    models: ['b2c'],
    rounds: [open('safe', uncapped, { backers: 1, eachCents: 20_000 })],
  },
  {
    name: 'Finished Symphony',
    slug: 'finished-symphony',
    tagline: 'Funded, and playing',
    industries: ['music', 'entertainment'],
    models: ['b2c'],
    rounds: [
      closed('equity', equity, {
        sharePriceCents: 120,
        closedDaysAgo: 400,
        outcome: { status: 'exited', reason: 'acquisition', on: '2026-06-30', valuePpm: 2_350_000 },
      }),
      closed(
        'other',
        { name: 'Revenue note', description: 'Paid from tickets.' },
        { closedDaysAgo: 150, startedDaysAgo: 300 },
      ),
    ],
  },
  {
    name: 'Sunken Bells',
    slug: 'sunken-bells',
    tagline: 'Funded, and gone',
    industries: ['media'],
    models: ['b2c'],
    rounds: [
      closed('safe', safe, {
        closedDaysAgo: 260,
        outcome: { status: 'failed', reason: 'failed', on: '2026-08-31', valuePpm: 0 },
      }),
    ],
  },
  {
    name: 'Hidden Hollow',
    slug: 'hidden-hollow',
    tagline: 'Taken down by its founders',
    hidden: true,
    industries: ['sports'],
    models: ['service'],
    rounds: [open('safe', safe, { backers: 5 })],
  },
];
