import { z } from 'zod';
import type { JsonObject } from '../../domain/json.js';
import { moveRound } from '../catalog/round-lifecycle.js';
import { type Deal, findDeal } from '../deals/model.js';
import type { ProposeIntent } from '../deals/ports.js';
import { readinessOf } from '../deals/readiness.js';
import { Problem } from '../http/problem.js';
import { loadInvestment } from '../investments/model.js';
import { changeInvestment } from '../investments/write.js';
import type { Services } from '../services.js';
import { all } from '../state/statements.js';
import { ranks } from '../syndicates/access.js';
import { recordActivity } from '../syndicates/activity.js';
import { type Syndicate, syndicateByNo } from '../syndicates/model.js';
import type { IntentAction } from './action.js';
import { reviewUrl } from './present.js';
import { propose } from './propose.js';
import { refused, syndicateAction } from './syndicate-actions.js';

/** Both actions were removed in 2026-10-15. Since then the platform's staff close deals. */
const removedIn = '2026-10-15';

const dealParams = z
  .strictObject({ offering_id: z.string().max(200).optional(), fundraise_id: z.string().max(200).optional() })
  .refine(({ offering_id, fundraise_id }) => (offering_id ?? fundraise_id) !== undefined, {
    path: ['offering_id'],
    message: 'must be the id of a deal (ofr_)',
  })
  .transform(
    ({ offering_id, fundraise_id }): JsonObject => ({ offering_id: offering_id ?? fundraise_id ?? '' }),
  );

function liveDeal(services: Services, syndicate: Syndicate, params: JsonObject): Deal {
  const access = {
    syndicate,
    rank: ranks.operator,
    moderator: true,
    userNo: null,
    reader: 'intents',
  } as const;
  try {
    const deal = findDeal(services.state, access, String(params.offering_id));
    if (['open', 'oversubscribed', 'closing'].includes(deal.status)) return deal;
    throw refused(`The deal is ${deal.status}.`);
  } catch (error) {
    if (error instanceof Problem && error.status === 404) throw refused(`${error.message}`);
    throw error;
  }
}

/** A deal that is not ready may be closed; the summary lists the missing checks. */
function missing(syndicate: Syndicate, deal: Deal): string {
  const open = readinessOf(syndicate, deal).attributes.checks.filter(({ passed }) => !passed);
  return open.length === 0 ? '' : ` Not ready yet: ${open.map(({ message }) => message).join(' ')}`;
}

const dealName = (deal: Deal): string => deal.name ?? deal.company_name;

const closing = syndicateAction({
  name: 'syndicates.close_deal',
  params: dealParams,
  rank: 'full_access',
  removedIn,
  summary(services, syndicate, params) {
    const deal = liveDeal(services, syndicate, params);
    return `Close the deal ${dealName(deal)} of ${syndicate.name} to new investments.${missing(syndicate, deal)}`;
  },
  act(services, syndicate, params, approverNo, now) {
    const deal = liveDeal(services, syndicate, params);
    if (deal.status === 'closing') throw refused('The deal is being closed already.');
    moveRound(services, deal.no, 'closing', now);
    recordActivity(services, { syndicateNo: syndicate.no, action: 'deal.closed' }, approverNo, now);
    return { deal: deal.id, status: 'closing' };
  },
});

const finalizing = syndicateAction({
  name: 'syndicates.finalize_deal',
  params: dealParams,
  rank: 'full_access',
  removedIn,
  summary(services, syndicate, params) {
    const deal = liveDeal(services, syndicate, params);
    return `Finalize the deal ${dealName(deal)} of ${syndicate.name}: every confirmed investment is executed.`;
  },
  act(services, syndicate, params, approverNo, now) {
    const deal = liveDeal(services, syndicate, params);
    if (deal.status !== 'closing') throw refused('The deal must be closed before it is finalized.');
    const executed = executeConfirmed(services, deal, now);
    moveRound(services, deal.no, 'closed', now);
    recordActivity(services, { syndicateNo: syndicate.no, action: 'deal.finalized' }, approverNo, now);
    return { deal: deal.id, status: 'closed', executed };
  },
});

function executeConfirmed(services: Services, deal: Deal, now: number): number {
  const confirmed = all<{ no: number }>(
    services.state,
    `SELECT no FROM investments WHERE offering_no = ? AND status = 'active' AND deleted_at IS NULL
       AND group_label IN ('IS READY', 'CONFIRMED') ORDER BY no`,
    [deal.no],
  );
  for (const { no } of confirmed) {
    const columns = { status: 'executed', group_label: 'CONFIRMED', in_escrow_cents: 0 } as const;
    changeInvestment(services, loadInvestment(services.state, no), columns, 'changed', now);
  }
  return confirmed.length;
}

export const dealActions: readonly IntentAction[] = [closing, finalizing];

/** Creates the intent of the two retired deal operations, or returns the pending one of the same deal. */
export const proposeDeal: ProposeIntent = (exchange, proposal) => {
  const action = dealActions.find(({ name }) => name === proposal.action);
  if (action === undefined) throw new Error(`no action ${proposal.action}`);
  const syndicate = syndicateByNo(exchange.services.state, proposal.syndicateNo);
  const params = { offering_id: proposal.offeringId };
  const key = `${proposal.action}:${proposal.offeringId}`;
  const { intent } = propose(exchange, { action, resourceId: syndicate.id, params }, key, null);
  return { id: intent.id, status: intent.status, review_url: reviewUrl(exchange, intent) };
};
