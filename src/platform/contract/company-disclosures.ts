import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { date, decimal, exemption, listText } from './shapes.js';

const scopes = ['read:public', 'read:explore'] as const;
const text = z.string().nullable();

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
  titles: z.array(z.string()).describe('Every title, most important first; empty when none is disclosed.'),
  since: z.int().nullable(),
  director: z.boolean(),
  officer: z.boolean(),
});

/** A section is absent when the request did not name it, and null when the company hides it. */
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
    .describe('Fiscal years without figures are omitted.'),
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
const companyDisclosures = z
  .object({
    id: z.string().describe('co_'),
    type: z.literal('company_disclosures'),
    attributes: z.object({
      offering_id: z.string(),
      currency: z.string().describe('Currency of the round: EUR for an ECSP round.'),
      financials_currency: z
        .string()
        .describe('Currency of the issuer’s financial statements. May differ from currency.'),
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
  summary: 'Get what the company disclosed in its Form C',
  scopes,
  query: z.object({ sections: listText.optional() }),
  responses: { 200: { description: 'The disclosures.', schema: z.object({ data: companyDisclosures }) } },
  errors: [400, 404],
});
