import * as operations from '../contract/deals.js';
import { callerOf, created, type Exchange, type Handler, ok, type Reply } from '../http/exchange.js';
import { pageSizeOf, readPage } from '../http/paging.js';
import { Problem } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { publishDue } from '../investments/publisher.js';
import { one } from '../state/statements.js';
import { type Access, accessTo, operatorAccess } from '../syndicates/access.js';
import { createDeal } from './create.js';
import { type InvestorSight, investorsOf, offsetPageOf } from './investors.js';
import { type Deal, findDeal, liveDeals } from './model.js';
import type { DealProposal, ProposeIntent } from './ports.js';
import { dealResourceOf, dealStatisticsOf } from './present.js';
import { readinessOf } from './readiness.js';

/** `propose` creates the intent of the two retired operations. No other operation needs an approval. */
export const dealRoutes = (propose: ProposeIntent): readonly Route[] => [
  route(operations.listDeals, ...guarded, list),
  route(operations.getDeal, ...guarded, (exchange) =>
    ok({ data: dealResourceOf(dealOf(exchange, accessTo(exchange))) }),
  ),
  route(operations.createDeal, ...guarded, create),
  route(operations.getDealReadiness, ...guarded, (exchange) => {
    const access = operatorAccess(exchange);
    return ok({ data: readinessOf(access.syndicate, dealOf(exchange, access)) });
  }),
  route(operations.listDealInvestors, ...guarded, investors),
  route(operations.getDealStatistics, ...guarded, (exchange) =>
    ok({ data: dealStatisticsOf(dealOf(exchange, operatorAccess(exchange))) }),
  ),
  route(operations.closeDeal, ...guarded, proposing('syndicates.close_deal', 'close_deal_intent', propose)),
  route(
    operations.finalizeDeal,
    ...guarded,
    proposing('syndicates.finalize_deal', 'finalize_deal_intent', propose),
  ),
];

/** Returns the deal with current totals: changes queued for the publisher are published first. */
function dealOf(exchange: Exchange, access: Access): Deal {
  publishDue(exchange.services, exchange.now);
  return findDeal(exchange.services.state, access, exchange.params.offering_id ?? '');
}

function list(exchange: Exchange<typeof operations.listDeals>): Reply {
  const { services, now } = exchange;
  const { syndicate, reader } = accessTo(exchange);
  const query = exchange.input.query;
  publishDue(services, now);
  const page = readPage<Deal, readonly [number]>(
    services.state,
    { list: `deals:${reader}:${syndicate.no}`, cursor: query.cursor, size: pageSizeOf(query.per_page) },
    (after, limit) => liveDeals(services.state, syndicate.no, after?.[0] ?? null, limit),
    (deal) => [deal.no],
  );
  return ok({ data: page.items.map(dealResourceOf), meta: page.meta });
}

function create(exchange: Exchange<typeof operations.createDeal>): Reply {
  const access = operatorAccess(exchange);
  const { deal } = exchange.input.body;
  return created({ data: dealResourceOf(createDeal(exchange.services, access, deal, exchange.now)) });
}

function investors(exchange: Exchange<typeof operations.listDealInvestors>): Reply {
  const access = accessTo(exchange);
  const query = exchange.input.query;
  const page = offsetPageOf(query);
  const deal = dealOf(exchange, access);
  return ok(investorsOf(exchange.services.state, deal, page, sightOf(exchange, access)));
}

/** An installation sees investor names only with `read:investors:pii`. */
function sightOf(exchange: Exchange, access: Access): InvestorSight {
  const caller = callerOf(exchange);
  const names = caller.kind === 'user' || caller.scopes.has('read:investors:pii');
  return { names, emails: names && access.moderator };
}

function proposing(
  action: DealProposal['action'],
  key: 'close_deal_intent' | 'finalize_deal_intent',
  propose: ProposeIntent,
): Handler {
  return (exchange) => {
    const access = operatorAccess(exchange);
    const deal = ownDeal(exchange, access);
    const { no: syndicateNo } = access.syndicate;
    const proposal = { action, syndicateNo, offeringNo: deal.no, offeringId: deal.id };
    return ok({ data: dealResourceOf(deal), meta: { [key]: propose(exchange, proposal) } });
  };
}

/** Returns the deal. Throws a 422 instead of a 404 when the offering exists but belongs to another syndicate. */
function ownDeal(exchange: Exchange, access: Access): Deal {
  const { state } = exchange.services;
  const id = exchange.params.offering_id ?? '';
  const known = one<{ syndicate_no: number | null }>(
    state,
    `SELECT o.syndicate_no FROM offerings o JOIN companies c ON c.no = o.company_no WHERE o.id = ? AND c.realm = ?`,
    [id, access.syndicate.realm],
  );
  if (known !== undefined && known.syndicate_no !== access.syndicate.no) {
    throw new Problem(422, 'unprocessable_entity', `${id} is not a deal of ${access.syndicate.id}.`);
  }
  return dealOf(exchange, access);
}
