import { writtenSum } from '../http/written-sum.js';
import { publishDue } from '../investments/publisher.js';
import { rolesIn } from '../members/listing.js';
import type { Services } from '../services.js';
import { centsOfSum, exactSum } from '../state/exact-sum.js';
import { one } from '../state/statements.js';
import { activitySince } from './activity.js';
import { liveStatuses, type Syndicate } from './model.js';
import { wholeDollars } from './present.js';

const recentMillis = 30 * 24 * 60 * 60 * 1000;

const dealsSql = `SELECT count(*) AS total, coalesce(sum(status IN ${liveStatuses}), 0) AS live
  FROM offerings WHERE syndicate_no = ?`;
const moneySql = `SELECT ${exactSum('raised_cents')} AS raised, count(DISTINCT investor_no) AS investors
  FROM syndicate_investments WHERE syndicate_no = ?`;

export function statisticsOf(services: Services, syndicate: Syndicate, now: number) {
  publishDue(services, now);
  const { state } = services;
  const deals = one<{ total: number; live: number }>(state, dealsSql, [syndicate.no]);
  const money = one<{ raised: string; investors: number }>(state, moneySql, [syndicate.no]);
  const raised = centsOfSum(money?.raised ?? '');
  const byRole = rolesIn(state, syndicate.no);
  const gone = (byRole.resigned ?? 0) + (byRole.exiled ?? 0);
  return {
    type: 'syndicate_statistics',
    attributes: {
      total_members: Object.values(byRole).reduce((sum, count) => sum + count, 0) - gone,
      members_by_role: byRole,
      total_deals: deals?.total ?? 0,
      live_deals: deals?.live ?? 0,
      total_raised: wholeDollars(raised),
      total_raised_cents: writtenSum(raised),
      total_investors: money?.investors ?? 0,
      recent_activity_count: activitySince(services, syndicate.no, now - recentMillis),
    },
  };
}
