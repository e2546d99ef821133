import type { Exchange } from '../http/exchange.js';
import { Problem } from '../http/problem.js';

/** What a person is asked to decide, and where. */
export interface ProposedIntent {
  readonly id: string;
  readonly status: string;
  readonly review_url: string;
}

export interface DealProposal {
  readonly action: 'syndicates.close_deal' | 'syndicates.finalize_deal';
  readonly syndicateNo: number;
  readonly offeringNo: number;
  readonly offeringId: string;
}

/**
 * Makes a pending intent, or answers the one this caller has pending for the same deal and action, which costs
 * nothing of the hourly limit. Throws the 429 of that limit. The caller has passed scope and operator permission,
 * and the deal is one of the syndicate's.
 */
export type ProposeIntent = (exchange: Exchange, proposal: DealProposal) => ProposedIntent;

/** Where nobody decides on intents, nothing can be proposed. */
export const noProposals: ProposeIntent = () => {
  throw new Problem(403, 'feature_disabled', 'Closing and finalizing deals is not enabled here.');
};
