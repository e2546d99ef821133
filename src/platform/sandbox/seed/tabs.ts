import type { JsonObject } from '../../../domain/json.js';
import { postComment } from '../../companies/comments.js';
import type { StoryBlock } from '../../contract/company-pitch.js';
import { newId } from '../../state/secrets.js';
import { one, run } from '../../state/statements.js';
import type { SeededUser, Seeding } from './accounts.js';
import { between } from './picks.js';

const dayMillis = 86_400_000;

export interface TabsOf {
  readonly no: number;
  readonly name: string;
  readonly offeringNo: number;
  readonly founder: SeededUser;
  readonly askers: readonly SeededUser[];
  /** Whether the filing shows every section and three fiscal years. Otherwise one section is hidden and one year is missing. */
  readonly complete: boolean;
}

/** Seeds the tabs of a company's page: filing, story, posts and questions. */
export function seedTabs(seeding: Seeding, company: TabsOf): void {
  seedDisclosures(seeding, company);
  seedPitch(seeding, company);
  seedUpdates(seeding, company);
  seedQuestions(seeding, company);
}

const dollars = (whole: number): string => `${whole}.00`;

const year = (revenue: number): JsonObject => ({
  total_assets: dollars(revenue * 2),
  cash_and_equivalents: dollars(Math.floor(revenue / 2)),
  accounts_receivable: dollars(Math.floor(revenue / 10)),
  current_liabilities: dollars(Math.floor(revenue / 5)),
  non_current_liabilities: dollars(Math.floor(revenue / 4)),
  short_term_debt: dollars(Math.floor(revenue / 20)),
  long_term_debt: dollars(Math.floor(revenue / 4)),
  revenue: dollars(revenue),
  cost_of_goods_sold: dollars(Math.floor(revenue * 0.6)),
  taxes_paid: '0.00',
  net_income: `-${dollars(Math.floor(revenue / 8))}`,
});

function seedDisclosures({ state, random }: Seeding, company: TabsOf): void {
  const revenue = between(random, 100, 900) * 1000;
  const founder = {
    name: company.founder.name,
    titles: ['Chief Executive Officer', 'President'],
    since: 2021,
    director: true,
    officer: true,
  };
  const sections: JsonObject = {
    business: {
      legal_name: `${company.name}, Inc.`,
      legal_form: 'Corporation',
      jurisdiction: 'Delaware',
      incorporated_on: '2021-03-15',
      employees: between(random, 3, 40),
    },
    financial_statements: {
      most_recent: year(revenue),
      prior: year(Math.floor(revenue / 2)),
      ...(company.complete ? { prior_prior: year(Math.floor(revenue / 4)) } : {}),
    },
    current_position: {
      cash_on_hand: dollars(Math.floor(revenue / 3)),
      cash_on_hand_as_of: '2026-09-30',
      average_monthly_revenue: dollars(Math.floor(revenue / 12)),
      average_monthly_cost_of_goods: dollars(Math.floor(revenue / 20)),
      average_monthly_expenses: dollars(Math.floor(revenue / 10)),
      average_monthly_burn: dollars(Math.floor(revenue / 15)),
    },
    financial_condition: 'The company has been financed by its founders and by earlier rounds.',
    financial_statement_documents: [
      {
        name: 'Reviewed statements',
        url: `https://filings.invest.example/statements/${company.offeringNo}.pdf`,
      },
    ],
    investment_documents: [
      {
        name: 'Subscription agreement',
        url: `https://filings.invest.example/agreements/${company.offeringNo}.pdf`,
      },
    ],
    risks: ['The company may never make a profit.', 'Its suppliers are few.'],
    use_of_funds: [
      { if_raised: '50000.00', plan: 'Half for inventory, half for people.' },
      { if_raised: '1000000.00', plan: 'A second plant.' },
    ],
    directors: [founder],
    officers: [founder],
    voting_power: [
      { name: company.founder.name, holding: '4,000,000 Common Stock', voting_power_percent: '64.00' },
    ],
    capital_structure: [
      {
        class_of_security: 'Common Stock',
        authorized: '10000000',
        outstanding: '6250000',
        voting_rights: 'Yes',
        other_rights: null,
      },
    ],
    prior_offerings: [
      {
        date: '2024-05-01',
        exemption: 'Section 4(a)(2)',
        security_type: 'SAFE',
        amount_sold: '150000.00',
        use_of_proceeds: 'General operations',
        offering_id: null,
      },
    ],
    outstanding_notes: [
      {
        amount: '100000.00',
        outstanding_principal: '100000.00',
        valuation_cap: '5000000.00',
        interest_rate_percent: '5.00',
        discount_percent: '20.00',
        maturity_date: '2027-05-01',
        description: null,
      },
      {
        amount: '40000.00',
        outstanding_principal: null,
        valuation_cap: null,
        interest_rate_percent: null,
        discount_percent: '15.00',
        maturity_date: null,
        description: 'Uncapped SAFE of an early supporter.',
      },
    ],
    outstanding_debts: {
      note: null,
      items: [
        {
          original_amount: '60000.00',
          outstanding_principal: '25000.00',
          current_with_payments: true,
          maturity_date: '2028-01-01',
          description: 'Equipment loan',
        },
      ],
    },
    related_parties: {
      description: 'A loan from a founder.',
      parties: [
        {
          name: company.founder.name,
          relationship: 'Founder',
          amount: '20000.00',
          date: '2023-02-01',
          outstanding_principal: '5000.00',
          description: null,
        },
      ],
    },
  };
  run(
    state,
    `INSERT INTO disclosures (offering_no, financials_currency, filed, sec_filing_url, statement_date,
       fiscal_year_end, sections, hidden) VALUES (?, 'USD', 1, ?, '2026-06-30', '--12-31', ?, ?)`,
    [
      company.offeringNo,
      `https://filings.invest.example/sec/${company.offeringNo}`,
      JSON.stringify(sections),
      JSON.stringify(company.complete ? [] : ['related_parties']),
    ],
  );
}

const story = (name: string, slug: number): readonly StoryBlock[] => [
  { type: 'heading', level: 1, text: `Why ${name}` },
  {
    type: 'paragraph',
    text: 'We make things that last [1].',
    links: [{ text: 'things that last', url: 'https://company.example/things' }],
  },
  { type: 'list', ordered: true, start: 3, items: ['Sell more.', 'Waste less.'] },
  { type: 'list', ordered: false, items: ['A team of friends.', 'Two patents.'] },
  {
    type: 'image',
    url: `https://images.invest.example/${slug}/plant.jpg`,
    alt: 'The plant',
    filename: 'plant.jpg',
    link: 'https://company.example/plant',
  },
  { type: 'video', url: 'https://videos.example/watch/1', provider: 'youtube' },
  { type: 'footnote', number: 1, text: 'Our own tests of 2025.' },
];

/** The perks belong to the round that the pitch shows: the newest open one, of those that take money if there is one. */
const shownRoundSql = `SELECT no FROM offerings WHERE company_no = ? AND status IN ('open', 'closed')
  ORDER BY status = 'open' DESC, testing_the_waters, coalesce(started_at, created_at) DESC, no DESC LIMIT 1`;

function seedPitch({ state }: Seeding, company: TabsOf): void {
  run(
    state,
    'INSERT INTO pitches (company_no, title, authored_by, disclaimer, blocks) VALUES (?, ?, ?, ?, ?)',
    company.no % 2 === 0
      ? [
          company.no,
          `Invest in ${company.name}`,
          'company',
          null,
          JSON.stringify(story(company.name, company.no)),
        ]
      : [
          company.no,
          `Our memo on ${company.name}`,
          'wefunder',
          'Written by the platform, which is no advice.',
          JSON.stringify(story(company.name, company.no)),
        ],
  );
  const tiers = [
    { qualifying_cents: 25_000, description: 'Your name on the wall.' },
    { qualifying_cents: 500_000, description: 'Dinner with the founders.' },
  ];
  const shown = one<{ no: number }>(state, shownRoundSql, [company.no]);
  if (shown === undefined) return;
  run(state, 'INSERT INTO perks (offering_no, tiers) VALUES (?, ?)', [shown.no, JSON.stringify(tiers)]);
}

const posts = [
  ['update', 'public', 'A good quarter', 'We sold more than in all of last year.', 40, 0],
  ['note', 'community', 'For those who follow us', 'A first look at the next product.', 20, 0],
  ['update', 'investors', 'Report to investors', 'Margins rose, and so did rents.', 10, 0],
  ['update', 'founders', 'Among founders', 'Payroll is due on Friday.', 8, 0],
  ['update', 'private', 'Draft minutes', 'Not for outside.', 6, 0],
  ['spotlight', null, 'In the news', 'A paper wrote about us.', 90, 1],
] as const;

function seedUpdates({ state, random, now }: Seeding, company: TabsOf): void {
  for (const [kind, visibility, title, content, daysAgo, pinned] of posts) {
    run(
      state,
      `INSERT INTO company_updates (id, company_no, kind, title, content, published_at, pinned, visibility,
         author_name, comments_count, likes_count) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        newId(random, ''),
        company.no,
        kind,
        title,
        content,
        now - daysAgo * dayMillis,
        pinned,
        visibility,
        company.founder.name,
        between(random, 0, 9),
        between(random, 0, 60),
      ],
    );
  }
}

const questions = [
  ['What is your customer acquisition cost?', 'About forty dollars, and falling.', 2],
  ['When will you be profitable?', 'In the second year after this round.', 3],
  ['Do you ship to Canada?', null, 1],
  ['How was the money of the first round spent?', 'On tools.', 700],
] as const;

function seedQuestions(seeding: Seeding, company: TabsOf): void {
  const { now, random, state } = seeding;
  for (const [index, [question, answer, daysAgo]] of questions.entries()) {
    const asker = company.askers[index];
    if (asker === undefined) continue;
    const at = now - daysAgo * dayMillis;
    const wish = { companyNo: company.no, disclosureKey: null } as const;
    const asked = postComment(
      seeding,
      {
        ...wish,
        questionNo: null,
        authorNo: asker.no,
        body: question,
        disclosureKey: index === 0 ? 'investor' : null,
      },
      at,
    );
    run(state, 'UPDATE comments SET likes_count = ?, highlighted = ? WHERE no = ?', [
      between(random, 0, 30),
      index === 1 ? 1 : 0,
      asked.no,
    ]);
    if (answer === null) continue;
    postComment(
      seeding,
      { ...wish, questionNo: asked.no, authorNo: company.founder.no, body: answer },
      at + 3_600_000,
    );
  }
}
