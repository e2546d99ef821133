import { parseInstant } from '../../domain/instant.js';
import {
  getInvestment,
  getOfferingStats,
  listCompanyChanges,
  listInvestments,
} from '../contract/investments.js';
import { callerOf, type Exchange, ok, type Reply } from '../http/exchange.js';
import { pageSizeOf } from '../http/paging.js';
import { badParameter, notFound, Problem } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { noFilters, refuseForeign, resolveFilters } from './filters.js';
import { type InvestmentPage, readPage } from './pages.js';
import { readOne } from './read-one.js';
import { offeringStats } from './stats.js';
import { findCompany, findOffering, type View, viewOf } from './view.js';

export const investmentRoutes: readonly Route[] = [
  route(listInvestments, ...guarded, answerList),
  route(getInvestment, ...guarded, answerOne),
  route(getOfferingStats, ...guarded, answerStats),
  route(listCompanyChanges, ...guarded, answerChanges),
];

function answerList(exchange: Exchange<typeof listInvestments>): Reply {
  const { services, now } = exchange;
  const query = exchange.input.query;
  const view = viewOf(services.state, callerOf(exchange));
  const filters = resolveFilters(services.state, view, query);
  const page = readPage(
    services,
    view,
    filters,
    {
      cursor: query.cursor,
      updatedSince: query.cursor === undefined ? timeOf(query.updated_since) : undefined,
      perPage: pageSizeOf(query.per_page),
    },
    now,
  );
  return ok({
    data: page.data,
    meta: feedMeta(page),
  });
}

function answerOne(exchange: Exchange): Reply {
  const view = viewOf(exchange.services.state, callerOf(exchange));
  return ok(readOne(exchange.services, view, exchange.params.id ?? '', exchange.now));
}

function answerStats(exchange: Exchange): Reply {
  const { services, now } = exchange;
  const view = viewOf(services.state, callerOf(exchange));
  const offering = findOffering(services.state, exchange.params.offering_id ?? '', view.realm);
  if (offering === undefined) throw notFound('The offering');
  refuseForeign(view, offering.company_no);
  requireEdit(exchange, view, offering.company_no, 'The offering');
  return ok(offeringStats(services, offering, now));
}

function answerChanges(exchange: Exchange<typeof listCompanyChanges>): Reply {
  const { services, now } = exchange;
  const query = exchange.input.query;
  const view = viewOf(services.state, callerOf(exchange));
  const company = findCompany(services.state, exchange.params.company_id ?? '', view.realm);
  if (company === undefined) throw notFound('The company');
  refuseForeign(view, company.no);
  requireEdit(exchange, view, company.no, 'The company');
  const asked = { cursor: query.cursor, perPage: pageSizeOf(query.per_page) };
  const page = readPage(services, view, { ...noFilters, company: company.no }, asked, now);
  return ok({
    data: page.data,
    meta: { ...feedMeta(page), company_id: company.id },
  });
}

const feedMeta = (page: InvestmentPage) => ({
  mode: page.mode,
  has_more: page.hasMore,
  next_cursor: page.nextCursor,
  page_count: page.data.length,
  published_through: new Date(page.publishedThrough).toISOString(),
});

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const instant = parseInstant(text);
  if (instant === undefined) {
    throw badParameter(
      'updated_since',
      'updated_since must be an ISO 8601 time with a zone, like 2026-10-20T09:30:00Z.',
    );
  }
  return Date.parse(instant);
}

/** Requires edit access to the company. Throws a 403, or since 2026-10-15 a 404, which does not reveal the record. */
function requireEdit(exchange: Exchange, view: View, company: number, what: string): void {
  if (view.companies.includes(company)) return;
  if (exchange.version >= '2026-10-15') throw notFound(what);
  throw new Problem(403, 'forbidden', 'Only people who can edit the company may read this.', {
    remediation: 'Ask the company for edit access.',
  });
}
