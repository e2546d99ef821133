import { notFound, Problem } from '../http/problem.js';
import type { State } from '../state/database.js';
import { one } from '../state/statements.js';
import type { InvestmentStatus } from './derive.js';
import { findCompany, findOffering, type View } from './view.js';

/** Filters that narrow a view. Null means not requested. */
export interface Filters {
  readonly company: number | null;
  readonly offering: number | null;
  readonly investor: number | null;
  readonly status: InvestmentStatus | null;
}

export interface AskedFilters {
  readonly company_id?: string | undefined;
  readonly offering_id?: string | undefined;
  readonly investor_id?: string | undefined;
  readonly status?: InvestmentStatus | undefined;
}

/** Resolves ids to row numbers. Throws a 404 for an id that does not exist in this realm. */
export function resolveFilters(state: State, view: View, asked: AskedFilters): Filters {
  const company = asked.company_id === undefined ? null : findCompany(state, asked.company_id, view.realm);
  if (company === undefined) throw notFound('The company');
  const offering =
    asked.offering_id === undefined ? null : findOffering(state, asked.offering_id, view.realm);
  if (offering === undefined) throw notFound('The offering');
  refuseForeign(view, company?.no ?? null);
  refuseForeign(view, offering?.company_no ?? null);
  return {
    company: company?.no ?? null,
    offering: offering?.no ?? null,
    investor: asked.investor_id === undefined ? null : investorIn(state, view, asked.investor_id),
    status: asked.status ?? null,
  };
}

/** Throws a 403 when an installation names another company, instead of returning an empty list. */
export function refuseForeign(view: View, company: number | null): void {
  if (view.boundTo === null || company === null || view.boundTo.company === company) return;
  throw new Problem(403, 'forbidden', 'This token is bound to another company.', {
    remediation: 'Use the token of the installation on this company.',
  });
}

/** Throws a 404 for a user who never appeared in this view, so that ids cannot be probed. */
function investorIn(state: State, view: View, id: string): number {
  const person = one<{ no: number }>(state, 'SELECT no FROM users WHERE id = ?', [id])?.no;
  if (person === undefined) throw notFound('The investor');
  if (person === view.person) return person;
  const known = view.companies.some(
    (company) =>
      one(
        state,
        `SELECT 1 FROM ledger WHERE investor_no = ? AND audience = 'company' AND company_no = ? LIMIT 1`,
        [person, company],
      ) !== undefined,
  );
  if (!known) throw notFound('The investor');
  return person;
}

export const noFilters: Filters = { company: null, offering: null, investor: null, status: null };
