import { z } from 'zod';
import { operation } from './operation.js';
import { paths } from './paths.js';
import {
  cents,
  cursorText,
  date,
  decimal,
  dollars,
  exemption,
  flagText,
  listMeta,
  listText,
  perPageText,
  securityKind,
  timestamp,
} from './shapes.js';
import { questionSorts, updateKinds, updateVisibilities } from './vocabulary.js';

const scopes = ['read:public', 'read:explore'] as const;
const text = z.string().nullable();

export const company = z
  .object({
    id: z.string().describe('co_'),
    type: z.literal('company'),
    attributes: z.object({
      name: z.string(),
      tagline: text,
      url: text,
      logo_url: text,
      card_image_url: text,
      location: z.object({ city: text, state: text, country: text }),
      raising: z.boolean(),
      current_raise: z
        .object({
          offering_id: z.string(),
          offering_ids: z.array(z.string()).describe('All live legs of the raise.'),
          testing_the_waters: z.boolean(),
          amount_raised: dollars,
          amount_raised_cents: cents,
          funding_target: dollars.nullable(),
          funding_target_cents: cents.nullable(),
          investor_count: z.int(),
          oversubscribed: z.boolean(),
          closes_at: timestamp.nullable(),
        })
        .nullable(),
      past_rounds: z
        .array(
          z.object({
            offering_id: text.describe('Null on a reported round.'),
            source: z.enum(['service', 'reported']),
            exemption,
            amount_raised: dollars,
            amount_raised_cents: cents,
            investor_count: z.int().nullable(),
            opened_at: timestamp.nullable(),
            closed_at: timestamp.nullable(),
          }),
        )
        .describe('Those the ticker of the page adds in.'),
      service_rounds: z
        .array(
          z.object({
            offering_id: z.string(),
            current: z.boolean(),
            status: z.enum(['open', 'closed']),
            exemption,
            security: securityKind.nullable(),
            amount_raised: dollars,
            amount_raised_cents: cents,
            investor_count: z.int(),
            opened_at: timestamp.nullable(),
            closed_at: timestamp.nullable(),
          }),
        )
        .describe('Every round run here that the viewer may see, newest first.'),
      totals: z.object({
        raised_on_service_all_time: dollars,
        raised_on_service_all_time_cents: cents,
        profile_total_raised: dollars,
        profile_total_raised_cents: cents,
        profile_reported_off_platform: dollars,
        profile_reported_off_platform_cents: cents,
        profile_includes_past_rounds: z.boolean().nullable(),
      }),
    }),
  })
  .meta({ id: 'Company' });

export const getCompany = operation({
  id: 'getCompany',
  method: 'GET',
  path: paths.company,
  tag: 'Companies',
  summary: 'A company as its page shows it to this viewer',
  scopes,
  responses: { 200: { description: 'The company.', schema: z.object({ data: company }) } },
  errors: [404],
});

const cardAttributes = {
  name: z.string(),
  tagline: text,
  url: text,
  logo_url: text,
  raising: z.boolean(),
  profile_available: z.boolean().describe('GET /companies/{id} will serve it to this viewer.'),
};
export const companyCard = z
  .object({ id: z.string(), type: z.literal('company'), attributes: z.object(cardAttributes) })
  .meta({ id: 'CompanyCard' });

export const followedCompany = z
  .object({
    id: z.string(),
    type: z.literal('company'),
    attributes: z.object({ ...cardAttributes, followed_at: timestamp }),
  })
  .meta({ id: 'FollowedCompany' });

export const searchCompanies = operation({
  id: 'searchCompanies',
  method: 'GET',
  path: paths.companySearch,
  tag: 'Companies',
  summary: 'Companies by name or tagline, raising or funded; not paged',
  scopes,
  query: z.object({
    q: z.string().max(200),
    limit: perPageText.optional().describe('Default 8, at most 20.'),
  }),
  responses: {
    200: {
      description: 'The best matches.',
      schema: z.object({
        data: z.array(companyCard),
        meta: z.object({ query: z.string(), count: z.int() }),
      }),
    },
  },
  errors: [400],
  limits: ['catalogIp'],
});

const amount = decimal.nullable();
const statement = z
  .object({
    total_assets: amount,
    cash_and_equivalents: amount,
    accounts_receivable: amount,
    current_liabilities: amount,
    non_current_liabilities: amount,
    short_term_debt: amount,
    long_term_debt: amount,
    revenue: amount,
    cost_of_goods_sold: amount,
    taxes_paid: amount,
    net_income: amount,
  })
  .meta({ id: 'FinancialStatement' });

const documents = z.array(z.object({ name: text, url: text }));
const officer = z.object({
  name: text,
  titles: z.union([z.string(), z.array(z.string())]).nullable(),
  since: z.int().nullable(),
  director: z.boolean(),
  officer: z.boolean(),
});

/** A section is absent when it was not asked for, and null when the company hides it. */
export const disclosureSectionShapes = {
  business: z.object({
    legal_name: text,
    legal_form: text,
    jurisdiction: text,
    incorporated_on: date.nullable(),
    employees: z.int().nullable(),
  }),
  financial_statements: z
    .object({
      most_recent: statement.optional(),
      prior: statement.optional(),
      prior_prior: statement.optional(),
    })
    .describe('A fiscal year without figures is left out.'),
  ratios: z.object({
    net_margin_percent: amount,
    gross_margin_percent: amount,
    return_on_assets_percent: amount,
    liabilities_to_assets_percent: amount,
    debt_to_assets_percent: amount,
    cash_to_assets_percent: amount,
    revenue_per_employee: amount,
  }),
  current_position: z.object({
    currency: z.string(),
    cash_on_hand: amount,
    cash_on_hand_as_of: date.nullable(),
    average_monthly_revenue: amount,
    average_monthly_cost_of_goods: amount,
    average_monthly_expenses: amount,
    average_monthly_burn: amount,
  }),
  financial_condition: z.string(),
  financial_statement_documents: documents,
  investment_documents: documents,
  risks: z.array(z.string()),
  use_of_funds: z.array(z.object({ if_raised: amount, plan: text })),
  directors: z.array(officer),
  officers: z.array(officer),
  voting_power: z.array(z.object({ name: text, holding: text, voting_power_percent: amount })),
  capital_structure: z.array(
    z.object({
      class_of_security: text,
      authorized: amount,
      outstanding: amount,
      voting_rights: text,
      other_rights: text,
    }),
  ),
  prior_offerings: z.array(
    z.object({
      date: date.nullable(),
      exemption: text,
      security_type: text,
      amount_sold: amount,
      use_of_proceeds: text,
      offering_id: text,
    }),
  ),
  outstanding_notes: z.array(
    z.object({
      amount,
      outstanding_principal: amount,
      valuation_cap: amount,
      uncapped: z.boolean(),
      interest_rate_percent: amount,
      discount_percent: amount,
      maturity_date: date.nullable(),
      description: text,
    }),
  ),
  outstanding_debts: z.object({
    note: text,
    items: z.array(
      z.object({
        original_amount: amount,
        outstanding_principal: amount,
        current_with_payments: z.boolean().nullable(),
        maturity_date: date.nullable(),
        description: text,
      }),
    ),
  }),
  related_parties: z.object({
    description: text,
    parties: z.array(
      z.object({
        name: text,
        relationship: text,
        amount,
        date: date.nullable(),
        outstanding_principal: amount,
        description: text,
      }),
    ),
  }),
} as const;

const shapes = disclosureSectionShapes;
export const companyDisclosures = z
  .object({
    id: z.string().describe('co_'),
    type: z.literal('company_disclosures'),
    attributes: z.object({
      offering_id: z.string(),
      currency: z.string().describe('Of the round: EUR for an ECSP round.'),
      financials_currency: z.string().describe('Of the issuer’s statements; may differ.'),
      filing: z.object({
        exemption,
        sec_filing_url: text,
        filed: z.boolean(),
        statement_date: date.nullable(),
        fiscal_year_end: text.describe('--MM-DD'),
      }),
      business: shapes.business.nullable().optional(),
      financial_statements: shapes.financial_statements.nullable().optional(),
      ratios: shapes.ratios.nullable().optional(),
      current_position: shapes.current_position.nullable().optional(),
      financial_condition: shapes.financial_condition.nullable().optional(),
      financial_statement_documents: shapes.financial_statement_documents.nullable().optional(),
      investment_documents: shapes.investment_documents.nullable().optional(),
      risks: shapes.risks.nullable().optional(),
      use_of_funds: shapes.use_of_funds.nullable().optional(),
      directors: shapes.directors.nullable().optional(),
      officers: shapes.officers.nullable().optional(),
      voting_power: shapes.voting_power.nullable().optional(),
      capital_structure: shapes.capital_structure.nullable().optional(),
      prior_offerings: shapes.prior_offerings.nullable().optional(),
      outstanding_notes: shapes.outstanding_notes.nullable().optional(),
      outstanding_debts: shapes.outstanding_debts.nullable().optional(),
      related_parties: shapes.related_parties.nullable().optional(),
    }),
  })
  .meta({ id: 'CompanyDisclosures' });

export const getDisclosures = operation({
  id: 'getCompanyDisclosures',
  method: 'GET',
  path: paths.companyDisclosures,
  tag: 'Companies',
  summary: 'What the company disclosed in its Form C',
  scopes,
  query: z.object({ sections: listText.optional() }),
  responses: { 200: { description: 'The disclosures.', schema: z.object({ data: companyDisclosures }) } },
  errors: [400, 404],
});

const link = z.object({ text: z.string(), url: z.string() });
const links = z.array(link).optional();

export const storyBlock = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('heading'), level: z.int().min(1).max(6), text: z.string(), links }),
    z.object({ type: z.literal('paragraph'), text: z.string(), links }),
    z.object({
      type: z.literal('list'),
      ordered: z.boolean(),
      start: z.int().min(2).optional().describe('Only above 1.'),
      items: z.array(z.string()),
      links,
    }),
    z.object({
      type: z.literal('image'),
      url: z.string(),
      alt: text,
      filename: text,
      link: z.string().optional().describe('Only when the image is a hyperlink.'),
    }),
    z.object({
      type: z.literal('video'),
      url: z.string(),
      provider: z.enum(['youtube', 'vimeo', 'wistia', 'loom', 'upload', 'other']),
    }),
    z.object({ type: z.literal('footnote'), number: z.int(), text: z.string(), links }),
  ])
  .meta({ id: 'StoryBlock' });
export type StoryBlock = z.infer<typeof storyBlock>;

const perks = z.object({
  offering_id: z.string(),
  currency: z.string(),
  described_in_pitch: z
    .boolean()
    .describe('A guess: the list is a placeholder and the tiers stand in images.'),
  tiers: z.array(z.object({ qualifying_amount: decimal.nullable(), description: z.string() })),
});

export const getPitch = operation({
  id: 'getCompanyPitch',
  method: 'GET',
  path: paths.companyPitch,
  tag: 'Companies',
  summary: 'The story of a company, and the perks of its round',
  scopes,
  query: z.object({ sections: listText.optional() }),
  responses: {
    200: {
      description: 'The pitch.',
      schema: z.object({
        data: z
          .object({
            id: z.string().describe('co_'),
            type: z.literal('company_pitch'),
            attributes: z.object({
              offering_id: text,
              title: z.string(),
              url: z.string(),
              authored_by: z.enum(['company', 'wefunder']),
              disclaimer: text.describe('Null when the company is the author.'),
              story: z
                .object({
                  blocks: z.array(storyBlock),
                  image_count: z.int(),
                  video_count: z.int(),
                  inline_images_omitted: z.int(),
                  character_count: z.int(),
                })
                .optional(),
              perks: perks.nullable().optional(),
            }),
          })
          .meta({ id: 'CompanyPitch' }),
      }),
    },
  },
  errors: [400, 404],
});

export const companyUpdate = z
  .object({
    id: z.string(),
    type: z.literal('company_update'),
    attributes: z.object({
      kind: z.enum(updateKinds),
      title: text,
      excerpt: z.string().describe('Plain text, about 280 characters.'),
      content: z.string().optional().describe('Plain text, whole; only of a single post.'),
      published_at: timestamp,
      pinned: z.boolean(),
      visibility: z.enum(updateVisibilities).nullable(),
      author: z.object({ name: text }),
      comments_count: z.int(),
      likes_count: z.int(),
      url: z.string(),
    }),
  })
  .meta({ id: 'CompanyUpdate' });

const tabPage = perPageText.optional().describe('Default 20, at most 50.');

export const listUpdates = operation({
  id: 'listCompanyUpdates',
  method: 'GET',
  path: paths.companyUpdates,
  tag: 'Companies',
  summary: 'Published posts the viewer may read: pinned first, then newest',
  scopes,
  query: z.object({ cursor: cursorText.optional(), per_page: tabPage }),
  responses: {
    200: {
      description: 'A page of posts.',
      schema: z.object({
        data: z.array(companyUpdate),
        meta: z.object({ company: z.string(), ...listMeta }),
      }),
    },
  },
  errors: [400, 404],
});

export const getUpdate = operation({
  id: 'getCompanyUpdate',
  method: 'GET',
  path: paths.companyUpdate,
  tag: 'Companies',
  summary: 'One post, with its whole text',
  scopes,
  responses: { 200: { description: 'The post.', schema: z.object({ data: companyUpdate }) } },
  errors: [404],
});

const person = z.object({
  id: text.describe('usr_; null when the account is gone.'),
  name: text,
  role: text.describe('founder, employee, or what the author disclosed.'),
  team: z.boolean(),
});

export const companyQuestion = z
  .object({
    id: z.string().describe('cmt_'),
    type: z.literal('company_question'),
    attributes: z.object({
      question: z.string(),
      asked_at: timestamp,
      asked_by: person,
      likes_count: z.int(),
      highlighted: z.boolean(),
      answered_by_team: z.boolean(),
      match: z.enum(['question', 'answer']).nullable().describe('Where a search matched.'),
      answers: z.array(
        z.object({
          id: z.string().describe('cmt_'),
          answer: z.string(),
          answered_at: timestamp,
          answered_by: person,
          likes_count: z.int(),
        }),
      ),
      url: z.string(),
    }),
  })
  .meta({ id: 'CompanyQuestion' });

export const listQuestions = operation({
  id: 'listCompanyQuestions',
  method: 'GET',
  path: paths.companyQuestions,
  tag: 'Companies',
  summary: 'Questions of investors and their answers',
  scopes,
  query: z.object({
    sort: z.enum(questionSorts).optional(),
    past_raises: flagText.optional().describe('Default false: only since the current raise opened.'),
    q: z.string().optional().describe('Full text, at most 200 bytes: "a phrase", -word. Replaces the sort.'),
    unanswered_by_team: flagText.optional(),
    cursor: cursorText.optional(),
    per_page: tabPage,
  }),
  responses: {
    200: {
      description: 'A page of questions.',
      schema: z.object({
        data: z.array(companyQuestion),
        meta: z.object({
          company: z.string(),
          sort: z.enum([...questionSorts, 'search']),
          q: text,
          unanswered_by_team: z.boolean(),
          past_raises: z.boolean(),
          questions_since: timestamp.nullable(),
          total: z.int(),
          ...listMeta,
        }),
      }),
    },
  },
  errors: [400, 404],
});

export const companyOperations = [
  getCompany,
  searchCompanies,
  getDisclosures,
  getPitch,
  listUpdates,
  getUpdate,
  listQuestions,
] as const;
