import type { Random } from '../../../runtime/random.js';
import { exemptionLabels, securityLabels } from '../../contract/vocabulary.js';
import { insertInvestment } from '../../investments/model.js';
import { appendFirst, publishFirst } from '../../investments/publisher.js';
import type { State } from '../../state/database.js';
import { newId } from '../../state/secrets.js';
import { run } from '../../state/statements.js';
import { type SeededUser, type Seeding, seedUser } from './accounts.js';
import type { SeededCompany, SeededOffering } from './companies.js';
import { type DirectoryEntry, directory, type RoundPlan } from './directory.js';
import { inventInvestment, publishedAt } from './investments.js';
import { between, pick } from './picks.js';
import { seedTabs } from './tabs.js';

const dayMillis = 86_400_000;
/** Only the first companies get content for their pages: a world with thousands of companies is made for its records. */
const companiesWithPages = 20;

/**
 * Seeds the catalog from a separate random stream, so that changes here do not affect the records and credentials of a
 * seed.
 */
export function seedCatalog(
  state: State,
  random: Random,
  now: number,
  world: { readonly companies: readonly SeededCompany[]; readonly investors: readonly SeededUser[] },
): void {
  const seeding: Seeding = { state, random, now };
  const backers = Array.from({ length: 10 }, (_, index) =>
    seedUser(seeding, `backer${index + 1}`, `Backer ${index + 1}`),
  );
  for (const [index, company] of world.companies.entries()) {
    seedProfile(seeding, company.no, `sandbox-company-${index + 1}`, {
      industries: [pick(random, ['robotics', 'food_tech', 'energy', 'hardware'])],
      models: ['b2b'],
    });
    for (const offering of company.offerings) seedTerms(seeding, offering);
    const lead = company.offerings[0];
    if (index < companiesWithPages && lead !== undefined) {
      seedTabs(seeding, {
        no: company.no,
        name: company.name,
        offeringNo: lead.no,
        founder: company.founder,
        askers: backers,
        complete: true,
      });
    }
  }
  const entries = directory.map((entry, index) => seedEntry(seeding, entry, index, backers));
  seedPeople(seeding, world.investors, entries);
}

interface SeededEntry {
  readonly entry: DirectoryEntry;
  readonly companyNo: number;
  readonly offerings: readonly number[];
}

function seedEntry(
  seeding: Seeding,
  entry: DirectoryEntry,
  index: number,
  backers: readonly SeededUser[],
): SeededEntry {
  const { state, random, now } = seeding;
  const id = newId(random, 'co_');
  const { no } = run(
    state,
    `INSERT INTO companies (id, realm, name, slug, tagline, created_at) VALUES (?, 'test', ?, ?, ?, ?)`,
    [id, entry.name, entry.slug, entry.tagline, now - 600 * dayMillis],
  );
  const founder = seedUser(seeding, `maker${index + 1}`, `Maker ${index + 1}`);
  run(
    state,
    `INSERT INTO company_members (company_no, user_no, tier, can_edit) VALUES (?, ?, 'founder', 1)`,
    [no, founder.no],
  );
  seedProfile(seeding, no, entry.slug, entry);
  const offerings = entry.rounds.map((plan) => seedRound(seeding, { no, id }, plan, backers));
  if (entry.reportedCents !== undefined) {
    run(
      state,
      `INSERT INTO reported_rounds (company_no, exemption, amount_cents, investor_count, opened_at, closed_at)
       VALUES (?, 'other', ?, 7, ?, ?)`,
      [no, entry.reportedCents, now - 900 * dayMillis, now - 820 * dayMillis],
    );
  }
  const latest = offerings.at(-1);
  if (
    latest !== undefined &&
    entry.rounds.some((round) => round.exemption !== 'reg_d' && round.reservations !== true)
  ) {
    seedTabs(seeding, {
      no,
      name: entry.name,
      offeringNo: latest,
      founder,
      askers: backers,
      complete: false,
    });
  }
  return { entry, companyNo: no, offerings };
}

export function seedProfile(
  { state, now }: Seeding,
  companyNo: number,
  slug: string,
  entry: Pick<DirectoryEntry, 'industries' | 'models'> & Partial<DirectoryEntry>,
): void {
  run(
    state,
    `INSERT INTO company_profiles (company_no, audience, approved_at, hidden, logo_url, card_image_url, city, state,
       country, industries, business_models, promotion_opt_in)
     VALUES (?, ?, ?, ?, ?, ?, 'Portland', 'ME', 'United States', ?, ?, ?)`,
    [
      companyNo,
      entry.audience ?? 'everyone',
      entry.unapproved === true ? null : now,
      entry.hidden === true ? 1 : 0,
      `https://images.invest.example/${slug}/logo.png`,
      `https://images.invest.example/${slug}/card.png`,
      JSON.stringify(entry.industries),
      JSON.stringify(entry.models),
      entry.unpromoted === true ? 0 : 1,
    ],
  );
}

/** Seeds the terms of the offerings that have the world's investments. */
export function seedTerms({ state, random }: Seeding, offering: SeededOffering): void {
  const ecsp = offering.offering_type === 'ECSP';
  const security = offering.investment_type === 'Equity' ? 'equity' : 'safe';
  const terms =
    security === 'equity'
      ? {
          share_price_cents: offering.share_price_cents,
          pre_money_valuation_cents: 1_500_000_000,
          share_class: 'common',
        }
      : { valuation_cap_cents: between(random, 4, 20) * 100_000_000, discount_percent: '20' };
  run(
    state,
    `INSERT INTO offering_terms (offering_no, exemption, security_type, security_terms, intended_security_type,
       funding_target_cents, max_funding_target_cents, min_investment_cents, form_c_url, spv_legal_name)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      offering.no,
      ecsp ? 'ecsp' : 'reg_cf',
      offering.reservations ? null : security,
      offering.reservations ? '{}' : JSON.stringify(terms),
      offering.reservations ? security : null,
      5_000_000,
      500_000_000,
      10_000,
      offering.reservations ? null : `https://filings.invest.example/form-c/${offering.no}`,
      offering.reservations ? null : `Sandbox Vehicle ${offering.no}, a series of Nowhere SPV LLC`,
    ],
  );
}

function seedRound(
  seeding: Seeding,
  company: { readonly no: number; readonly id: string },
  plan: RoundPlan,
  backers: readonly SeededUser[],
): number {
  const { state, random, now } = seeding;
  const id = newId(random, 'ofr_');
  const started = now - plan.startedDaysAgo * dayMillis;
  const reservations = plan.reservations === true;
  const offering = {
    id,
    currency: plan.currency ?? 'usd',
    investment_type: securityLabels[plan.security],
    offering_type: exemptionLabels[plan.exemption],
    share_price_cents: plan.sharePriceCents ?? null,
    reservations,
  };
  const { no } = run(
    state,
    `INSERT INTO offerings (id, company_no, status, currency, investment_type, offering_type, share_price_cents,
       testing_the_waters, started_at, closes_at, closed_at, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      id,
      company.no,
      plan.status,
      offering.currency,
      offering.investment_type,
      offering.offering_type,
      offering.share_price_cents,
      reservations ? 1 : 0,
      started,
      plan.closesInDays === undefined ? null : now + plan.closesInDays * dayMillis,
      plan.closedDaysAgo === undefined ? null : now - plan.closedDaysAgo * dayMillis,
      started,
    ],
  );
  const filed = plan.exemption !== 'reg_d' && !reservations;
  run(
    state,
    `INSERT INTO offering_terms (offering_no, exemption, exemption_subtype, security_type, security_terms,
       intended_security_type, funding_target_cents, max_funding_target_cents, min_investment_cents, form_c_url,
       spv_legal_name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      no,
      plan.exemption,
      plan.subtype ?? null,
      reservations ? null : plan.security,
      JSON.stringify(plan.terms),
      reservations ? plan.security : null,
      plan.targetCents,
      plan.targetCents * 20,
      plan.minCents,
      filed ? `https://filings.invest.example/form-c/${no}` : null,
      filed ? `Vehicle ${no}, a series of Nowhere SPV LLC` : null,
    ],
  );
  if (plan.outcome !== undefined) {
    run(
      state,
      'INSERT INTO offering_outcomes (offering_no, status, exit_reason, exited_on, value_ppm, as_of) VALUES (?, ?, ?, ?, ?, ?)',
      [
        no,
        plan.outcome.status,
        plan.outcome.reason ?? null,
        plan.outcome.on ?? null,
        plan.outcome.valuePpm,
        now,
      ],
    );
  }
  for (const backer of backers.slice(0, plan.backers)) {
    back(seeding, { ...company, offerings: [{ no, ...offering }] }, plan, backer);
  }
  return no;
}

/** Inserts an investment of a given amount and publishes it at the end of the feed. */
function back(
  { state, random, now }: Seeding,
  company: Pick<SeededCompany, 'no' | 'id' | 'offerings'>,
  plan: RoundPlan,
  backer: SeededUser,
): void {
  const investor = {
    investor_no: backer.no,
    investor_id: backer.id,
    name: backer.name,
    legal_name: backer.name,
    email: backer.email,
    address: null,
    bio: null,
    deactivated_at: null,
  };
  const investment = {
    ...inventInvestment(random, publishedAt(now), company, investor),
    status: plan.reservations === true ? 'reserved' : plan.status === 'closed' ? 'executed' : 'active',
    group_label: plan.reservations === true ? 'NO PAYMENT YET' : 'CONFIRMED',
    committed_cents: plan.eachCents,
    in_escrow_cents: plan.status === 'closed' || plan.reservations === true ? 0 : plan.eachCents,
    applied_at: now - Math.floor(plan.startedDaysAgo * 0.9) * dayMillis,
    canceled_at: null,
  } as const;
  const no = insertInvestment(state, investment);
  publishFirst(state, no, investment, publishedAt(now));
  appendFirst(state, no);
}

/** Gives the first investor of the ready document access to everything; the second has only the public view. */
function seedPeople(
  { state, now }: Seeding,
  investors: readonly SeededUser[],
  entries: readonly SeededEntry[],
): void {
  const [connected, plain] = investors;
  if (connected === undefined || plain === undefined) return;
  run(state, 'UPDATE users SET accredited = 1 WHERE no = ?', [connected.no]);
  run(state, 'INSERT INTO vault_members (user_no) VALUES (?)', [connected.no]);
  run(state, 'INSERT INTO user_profiles (user_no, avatar_url, certified_at) VALUES (?, ?, ?)', [
    connected.no,
    'https://images.invest.example/people/ida.png',
    now - 100 * dayMillis,
  ]);
  const named = (slug: string) => entries.find(({ entry }) => entry.slug === slug);
  for (const offeringNo of named('private-pastures')?.offerings ?? []) {
    run(state, 'INSERT INTO offering_invitations (offering_no, user_no) VALUES (?, ?)', [
      offeringNo,
      connected.no,
    ]);
  }
  const followed = ['harbour-lanterns', 'tidal-ledger', 'paper-kites'].flatMap(
    (slug) => named(slug)?.companyNo ?? [],
  );
  for (const [index, companyNo] of followed.entries()) {
    run(state, 'INSERT INTO follows (user_no, company_no, followed_at) VALUES (?, ?, ?)', [
      connected.no,
      companyNo,
      now - (index + 1) * dayMillis,
    ]);
  }
}
