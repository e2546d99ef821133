import type { readinessChecks } from '../contract/deals.js';
import type { Syndicate } from '../syndicates/model.js';
import { type Deal, statusOf } from './model.js';

type Check = {
  readonly code: (typeof readinessChecks)[number];
  readonly passed: boolean;
  readonly message: string;
};

/** Returns the checks a deal must pass before it can be closed, in the order a manager works through them. */
export function readinessOf(syndicate: Syndicate, deal: Deal) {
  const target = deal.funding_target_cents;
  const waiting = deal.investment_count - deal.confirmed_count;
  const checks: readonly Check[] = [
    check(
      'syndicate_published',
      syndicate.published === 1,
      'The syndicate is published.',
      'Publish the syndicate.',
    ),
    check(
      'terms_complete',
      target !== null && deal.min_investment_cents !== null,
      'Target and minimum are set.',
      'Set a funding target and a minimum investment.',
    ),
    check('open', statusOf(deal) === 'open', 'The deal is open.', `The deal is ${statusOf(deal)}.`),
    check(
      'target_reached',
      target !== null && deal.raised_cents >= target,
      'The target is reached.',
      target === null
        ? 'There is no target to reach.'
        : `${BigInt(target) - BigInt(deal.raised_cents)} cents are missing.`,
    ),
    check(
      'investments_confirmed',
      deal.investment_count > 0 && waiting === 0,
      'Every investment is confirmed.',
      deal.investment_count === 0 ? 'Nobody has invested.' : `${waiting} investments are not confirmed.`,
    ),
  ];
  return {
    id: deal.id,
    type: 'deal_readiness',
    attributes: { ready: checks.every(({ passed }) => passed), checks },
  };
}

const check = (code: Check['code'], passed: boolean, good: string, bad: string): Check => ({
  code,
  passed,
  message: passed ? good : bad,
});
