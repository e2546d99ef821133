import { type CentsSum, centsSum } from '../../domain/money.js';
import type { ExemptionFamily, SecurityType } from '../contract/vocabulary.js';
import { publishDue } from '../investments/publisher.js';
import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import { centsOfSum, exactSum } from '../state/exact-sum.js';
import type { Realm } from '../state/secrets.js';
import { all, one } from '../state/statements.js';

export interface CompanyRow {
  readonly company_no: number;
  readonly company_id: string;
  readonly company_name: string;
  readonly slug: string;
  readonly tagline: string | null;
  readonly audience: 'everyone' | 'accredited' | 'vault';
  readonly approved_at: number | null;
  readonly hidden: number;
  readonly logo_url: string | null;
  readonly card_image_url: string | null;
  readonly city: string | null;
  readonly state: string | null;
  readonly country: string | null;
  readonly industries: string;
  readonly business_models: string;
  readonly ticker_includes_past: number;
  readonly promotion_opt_in: number;
}

interface OfferingRow {
  readonly no: number;
  readonly id: string;
  readonly status: 'upcoming' | 'open' | 'closed' | 'canceled';
  readonly currency: string;
  readonly testing_the_waters: number;
  readonly started_at: number | null;
  readonly closes_at: number | null;
  readonly closed_at: number | null;
  readonly created_at: number;
  readonly exemption: ExemptionFamily;
  readonly exemption_subtype: '506b' | '506c' | null;
  readonly security_type: SecurityType | null;
  readonly security_terms: string;
  readonly intended_security_type: SecurityType | null;
  readonly funding_target_cents: number | null;
  readonly max_funding_target_cents: number | null;
  readonly min_investment_cents: number | null;
  readonly form_c_url: string | null;
  readonly spv_legal_name: string | null;
}

export interface Numbers {
  /** Sum over the published records, equal to the total of the offering's stats. */
  readonly raised_cents: CentsSum;
  /** Number of distinct investors with raised money or a reservation. */
  readonly investor_count: number;
  readonly reserved_cents: CentsSum;
}

/** An offering with its company, its totals and the traction of the company. */
export interface Round extends CompanyRow, OfferingRow, Numbers {
  /** Raised and reserved, summed over all rounds of the company. */
  readonly traction_cents: CentsSum;
}

export const companyColumns = `c.no AS company_no, c.id AS company_id, c.name AS company_name, c.slug, c.tagline,
  coalesce(p.audience, 'everyone') AS audience, p.approved_at, coalesce(p.hidden, 0) AS hidden, p.logo_url,
  p.card_image_url, p.city, p.state, p.country, coalesce(p.industries, '[]') AS industries,
  coalesce(p.business_models, '[]') AS business_models, coalesce(p.ticker_includes_past, 1) AS ticker_includes_past,
  coalesce(p.promotion_opt_in, 1) AS promotion_opt_in`;

/** The API has four states of an offering, as of a deal: a round that is oversubscribed or closing is open until it is closed. */
const shownStatus =
  "CASE WHEN o.status IN ('oversubscribed', 'closing') THEN 'open' ELSE o.status END AS status";

const roundColumns = `${companyColumns}, o.no, o.id, ${shownStatus}, o.currency, o.testing_the_waters, o.started_at,
  o.closes_at, o.closed_at, o.created_at, coalesce(t.exemption, 'reg_cf') AS exemption, t.exemption_subtype,
  t.security_type, coalesce(t.security_terms, '{}') AS security_terms, t.intended_security_type,
  t.funding_target_cents, t.max_funding_target_cents, t.min_investment_cents, t.form_c_url, t.spv_legal_name
  FROM offerings o JOIN companies c ON c.no = o.company_no LEFT JOIN company_profiles p ON p.company_no = c.no
  LEFT JOIN offering_terms t ON t.offering_no = o.no`;

const ofRealm = `SELECT ${roundColumns} WHERE c.realm = ? ORDER BY o.no`;
const ofCompany = `SELECT ${roundColumns} WHERE c.no = ? ORDER BY o.no`;

interface NumbersRow {
  readonly raised: string;
  readonly investor_count: number;
  readonly reserved: string;
}

const keptNumbers = 'SELECT raised, investor_count, reserved FROM round_numbers WHERE offering_no = ?';

/** Cached totals of a round. Triggers delete the row when a published record changes. */
const countNumbers = `INSERT INTO round_numbers (offering_no, raised, investor_count, reserved)
  SELECT o.no, ${exactSum('raised_cents')},
    count(DISTINCT CASE WHEN raised_cents > 0 OR p.status = 'reserved' THEN investor_no END),
    ${exactSum("CASE WHEN p.status = 'reserved' THEN committed_cents ELSE 0 END")}
  FROM offerings o LEFT JOIN publications p INDEXED BY publications_backers ON p.offering_no = o.no AND visible = 1
  WHERE o.no = ? RETURNING raised, investor_count, reserved`;

export function roundsOfRealm(services: Services, realm: Realm, now: number): readonly Round[] {
  return withNumbers(services, all<CompanyRow & OfferingRow>(services.state, ofRealm, [realm]), now);
}

export function roundsOfCompany(services: Services, companyNo: number, now: number): readonly Round[] {
  return withNumbers(services, all<CompanyRow & OfferingRow>(services.state, ofCompany, [companyNo]), now);
}

export function findRound(services: Services, realm: Realm, id: string, now: number): Round | undefined {
  const row = one<{ company_no: number }>(
    services.state,
    'SELECT o.company_no FROM offerings o JOIN companies c ON c.no = o.company_no WHERE o.id = ? AND c.realm = ?',
    [id, realm],
  );
  if (row === undefined) return undefined;
  return roundsOfCompany(services, row.company_no, now).find((round) => round.id === id);
}

const companySql = `SELECT ${companyColumns} FROM companies c LEFT JOIN company_profiles p ON p.company_no = c.no`;
const companyById = `${companySql} WHERE c.id = ? AND c.realm = ?`;
const companiesOfRealm = `${companySql} WHERE c.realm = ? ORDER BY c.no`;

export const findCompany = (state: State, realm: Realm, id: string): CompanyRow | undefined =>
  one<CompanyRow>(state, companyById, [id, realm]);

export const companiesOf = (state: State, realm: Realm): readonly CompanyRow[] =>
  all<CompanyRow>(state, companiesOfRealm, [realm]);

function withNumbers(
  services: Services,
  rows: readonly (CompanyRow & OfferingRow)[],
  now: number,
): readonly Round[] {
  publishDue(services, now);
  const counted = rows.map((row) => ({ ...row, ...numbersOf(services.state, row.no) }));
  const traction = new Map<number, CentsSum>();
  for (const row of counted) {
    const before = traction.get(row.company_no) ?? 0;
    traction.set(row.company_no, centsSum(before, row.raised_cents, row.reserved_cents));
  }
  return counted.map((row) => ({ ...row, traction_cents: traction.get(row.company_no) ?? 0 }));
}

function numbersOf(state: State, offeringNo: number): Numbers {
  const row =
    one<NumbersRow>(state, keptNumbers, [offeringNo]) ?? one<NumbersRow>(state, countNumbers, [offeringNo]);
  if (row === undefined) throw new Error('an aggregate query returned no row');
  return {
    raised_cents: centsOfSum(row.raised),
    investor_count: row.investor_count,
    reserved_cents: centsOfSum(row.reserved),
  };
}
