import { wholeDollars } from '../syndicates/present.js';
import type { Deal } from './model.js';

export function dealStatisticsOf(deal: Deal) {
  const target = deal.funding_target_cents;
  return {
    id: deal.id,
    type: 'deal_statistics',
    attributes: {
      amount_raised: wholeDollars(deal.raised_cents),
      amount_raised_cents: deal.raised_cents,
      amount_committed_cents: deal.committed_cents,
      investor_count: deal.investor_count,
      investments_by_status: {
        pending: deal.investment_count - deal.confirmed_count,
        confirmed: deal.confirmed_count,
      },
      average_investment_cents:
        deal.investment_count === 0 ? 0 : Math.floor(deal.committed_cents / deal.investment_count),
      funding_target_cents: target,
      percent_funded: target === null ? null : Math.floor((deal.raised_cents * 100) / target),
    },
  };
}
