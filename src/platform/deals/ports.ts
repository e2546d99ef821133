import type { Exchange } from '../http/exchange.js';

/** A pending intent and the page where a person decides on it. */
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
 * Creates a pending intent, or returns the caller's pending intent for the same deal and action, which does not count
 * against the hourly limit. Throws a 429 over that limit. The scope, the operator permission and the deal's syndicate
 * must be checked before.
 */
export type ProposeIntent = (exchange: Exchange, proposal: DealProposal) => ProposedIntent;
