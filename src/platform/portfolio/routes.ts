import { findCompany } from '../catalog/rounds.js';
import * as operations from '../contract/portfolio.js';
import { callerOf, type Exchange, ok, type Reply, userOf } from '../http/exchange.js';
import { pageOf, pageSizeOf } from '../http/paging.js';
import { notFound } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { type Lot, lotsOfPerson, lotsOfSyndicate } from './lots.js';
import { investorsOf, type Perspective, type Position, positionResource, positionsOf } from './positions.js';
import { countsOf, summaryOf } from './summary.js';
import { managedSyndicate } from './syndicate.js';

export const portfolioRoutes: readonly Route[] = [
  route(operations.getPortfolio, ...guarded, answerSummary),
  route(operations.listPositions, ...guarded, (exchange) =>
    answerPositions(exchange, ownLots(exchange), 'investor'),
  ),
  route(operations.getSyndicatePortfolio, ...guarded, answerSyndicateSummary),
  route(operations.listSyndicatePositions, ...guarded, (exchange) =>
    answerPositions(exchange, syndicateLots(exchange), 'syndicate'),
  ),
];

function ownLots(exchange: Exchange): readonly Lot[] {
  const { userNo, realm } = userOf(exchange);
  return lotsOfPerson(exchange.services.state, userNo, realm);
}

const syndicateLots = (exchange: Exchange): readonly Lot[] =>
  lotsOfSyndicate(exchange.services.state, managedSyndicate(exchange));

function filtered(
  exchange: Exchange<typeof operations.getPortfolio>,
  lots: readonly Lot[],
): readonly Position[] {
  const { services, now } = exchange;
  const { realm } = callerOf(exchange);
  const { status, company } = exchange.input.query;
  const named = company === undefined ? null : findCompany(services.state, realm, company);
  if (named === undefined) throw notFound('The company');
  return positionsOf(services, realm, lots, now).filter(
    ({ outcome, round }) =>
      (status === undefined || outcome.status === status) &&
      (named === null || round.company_no === named.company_no),
  );
}

function answerSummary(exchange: Exchange<typeof operations.getPortfolio>): Reply {
  const positions = filtered(exchange, ownLots(exchange));
  const attributes = { ...summaryOf(positions, exchange.now), position_counts: countsOf(positions) };
  return ok({ data: { type: 'portfolio_summary', attributes } });
}

function answerSyndicateSummary(exchange: Exchange<typeof operations.getSyndicatePortfolio>): Reply {
  const positions = filtered(exchange, syndicateLots(exchange));
  const attributes = {
    ...summaryOf(positions, exchange.now),
    deal_counts: countsOf(positions),
    investor_count: investorsOf(positions.flatMap(({ lots }) => lots)),
  };
  return ok({ data: { type: 'syndicate_portfolio_summary', attributes } });
}

function answerPositions(
  exchange: Exchange<typeof operations.listPositions>,
  lots: readonly Lot[],
  perspective: Perspective,
): Reply {
  const { services } = exchange;
  const query = exchange.input.query;
  const page = pageOf(
    services.state,
    filtered(exchange, lots),
    ({ investedAt, round }) => [-investedAt, round.id],
    { cursor: query.cursor, size: pageSizeOf(query.per_page), list: `positions:${perspective}` },
  );
  return ok({
    data: page.items.map((position) => positionResource(services, position, perspective)),
    meta: page.meta,
  });
}
