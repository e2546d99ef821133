import type { z } from 'zod';
import type { createDealBody } from '../contract/deals.js';
import type { ExemptionFamily, SecurityType } from '../contract/vocabulary.js';
import { notFound } from '../http/problem.js';
import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import { newId } from '../state/secrets.js';
import { one, run } from '../state/statements.js';
import type { Access } from '../syndicates/access.js';
import { recordActivity } from '../syndicates/activity.js';
import { type Deal, findDeal } from './model.js';

/** Maps the labels of the deal API to the values of the catalog. */
const exemptions = { 'Reg CF': 'reg_cf', 'Reg D': 'reg_d', ECSP: 'ecsp' } as const satisfies Record<
  Terms['exemption'],
  ExemptionFamily
>;
const securities = {
  SAFE: 'safe',
  Equity: 'equity',
  'Convertible Note': 'convertible_note',
} as const satisfies Record<Terms['security'], SecurityType>;

type Terms = z.output<typeof createDealBody>['deal'];

/**
 * Creates an upcoming deal. The user must be an editor of the company; when an installation acts, a manager of the
 * syndicate must be. Throws a 404 for the company otherwise.
 */
export function createDeal(services: Services, access: Access, terms: Terms, now: number): Deal {
  const { state } = services;
  const { syndicate, userNo } = access;
  const company = one<{ no: number }>(state, 'SELECT no FROM companies WHERE id = ? AND realm = ?', [
    terms.company,
    syndicate.realm,
  ]);
  if (company === undefined || !mayRaise(state, company.no, syndicate.no, userNo)) {
    throw notFound(`The company ${terms.company}`);
  }
  return state.transaction(() => {
    const id = newId(services.random, 'ofr_');
    const { no } = run(
      state,
      `INSERT INTO offerings (id, company_no, syndicate_no, status, investment_type, offering_type, created_at)
       VALUES (?, ?, ?, 'upcoming', ?, ?, ?)`,
      [id, company.no, syndicate.no, terms.security, terms.exemption, now],
    );
    run(
      state,
      `INSERT INTO offering_terms (offering_no, exemption, exemption_subtype, security_type, funding_target_cents,
         min_investment_cents) VALUES (?, ?, ?, ?, ?, ?)`,
      [
        no,
        exemptions[terms.exemption],
        // Without a statement that the round may be advertised, it is a 506(b) round.
        terms.exemption === 'Reg D' ? '506b' : null,
        securities[terms.security],
        terms.funding_target_cents ?? null,
        terms.min_investment_cents ?? null,
      ],
    );
    run(
      state,
      `INSERT INTO deal_terms (offering_no, name, description, max_investment_cents, updated_at)
       VALUES (?, ?, ?, ?, ?)`,
      [no, terms.name ?? null, terms.description ?? null, terms.max_investment_cents ?? null, now],
    );
    recordActivity(services, { syndicateNo: syndicate.no, action: 'deal.created' }, userNo, now);
    return findDeal(state, access, id);
  })();
}

const editorSql = `SELECT 1 FROM company_members m WHERE m.company_no = $company AND m.can_edit = 1
  AND CASE WHEN $user IS NOT NULL THEN m.user_no = $user
    ELSE m.user_no IN (SELECT user_no FROM syndicate_managers WHERE syndicate_no = $syndicate) END`;

const mayRaise = (state: State, company: number, syndicate: number, user: number | null): boolean =>
  one(state, editorSql, { company, syndicate, user }) !== undefined;
