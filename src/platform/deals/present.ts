import type { DealResource } from '../contract/deals.js';
import { iso, isoOrNull } from '../http/timestamps.js';
import { writtenSum } from '../http/written-sum.js';
import { wholeDollars } from '../syndicates/present.js';
import { type Deal, statusOf } from './model.js';

const dollarsOrNull = (cents: number | null): string | null => (cents === null ? null : wholeDollars(cents));

export function dealResourceOf(deal: Deal): DealResource {
  return {
    id: deal.id,
    type: 'syndicate_deal',
    attributes: {
      name: deal.name ?? deal.company_name,
      status: statusOf(deal),
      company_name: deal.company_name,
      company_id: deal.company_no,
      company: deal.company,
      company_url: deal.company_slug,
      company_logo_url: null,
      amount_raised: wholeDollars(deal.raised_cents),
      investor_count: deal.investor_count,
      funding_target: deal.funding_target_cents === null ? null : String(deal.funding_target_cents),
      exemption: deal.offering_type,
      security: deal.investment_type,
      min_investment: dollarsOrNull(deal.min_investment_cents),
      max_investment: dollarsOrNull(deal.max_investment_cents),
      description: deal.description,
      created_at: iso(deal.created_at),
      updated_at: iso(deal.updated_at ?? deal.created_at),
      closed_at: isoOrNull(deal.closed_at),
      funding_started_at: isoOrNull(deal.started_at),
    },
  };
}

export function dealStatisticsOf(deal: Deal) {
  const target = deal.funding_target_cents;
  return {
    id: deal.id,
    type: 'deal_statistics',
    attributes: {
      amount_raised: wholeDollars(deal.raised_cents),
      amount_raised_cents: writtenSum(deal.raised_cents),
      amount_committed_cents: writtenSum(deal.committed_cents),
      investor_count: deal.investor_count,
      investments_by_status: {
        pending: deal.investment_count - deal.confirmed_count,
        confirmed: deal.confirmed_count,
      },
      average_investment_cents:
        deal.investment_count === 0
          ? 0
          : Number(BigInt(deal.committed_cents) / BigInt(deal.investment_count)),
      funding_target_cents: target,
      percent_funded: target === null ? null : Math.floor((Number(deal.raised_cents) * 100) / target),
    },
  };
}
