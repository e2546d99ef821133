import type { CentsSum } from '../../domain/money.js';
import type { SyndicateResource } from '../contract/syndicates.js';
import { iso } from '../http/timestamps.js';
import type { Syndicate } from './model.js';

/** Returns whole dollars, rounded down, so that no amount is overstated. */
export function wholeDollars(cents: CentsSum): string {
  const whole = BigInt(cents);
  return String(whole / 100n - (whole % 100n < 0n ? 1n : 0n));
}

export function syndicateResourceOf(row: Syndicate): SyndicateResource {
  return {
    id: row.id,
    type: 'syndicate',
    attributes: {
      name: row.name,
      slug: row.slug,
      tagline: row.tagline,
      description: row.description,
      avatar_url: row.avatar_url,
      published: row.published === 1,
      launched: row.launched === 1,
      membership_open: row.membership_open === 1,
      syndicate_type: row.syndicate_type,
      auto_accept_accredited_members: row.auto_accept_accredited_members === 1,
      auto_approve_join_sessions: row.auto_approve_join_sessions === 1,
      fund_required: row.fund_required === 1,
      ...(row.syndicate_type === 'annual_subscription' ? { annual_subscription: subscriptionOf(row) } : {}),
      ...(row.syndicate_type === 'traditional_fund' ? { traditional_fund: fundOf(row) } : {}),
      member_count: row.member_count,
      deal_count: row.deal_count,
      primary_fund_company_id: row.primary_fund_company_no,
      primary_fund_company: row.primary_fund_company,
      created_by_user_id: row.created_by === null ? null : row.created_by_no,
      created_by: row.created_by,
      created_at: iso(row.created_at),
      updated_at: iso(row.updated_at ?? row.created_at),
    },
  };
}

const subscriptionOf = (row: Syndicate) => ({
  fund_investment_amount: wholeDollars(row.fund_investment_cents),
  deals_per_year: row.deals_per_year,
  amount_per_deal: wholeDollars(row.deal_cents),
});

const fundOf = (row: Syndicate) => ({
  require_minimum_investment: row.require_minimum_investment === 1,
  minimum_investment_amount: wholeDollars(row.minimum_investment_cents),
});
