import { badParameter } from '../http/problem.js';
import { iso } from '../http/timestamps.js';
import { writtenSum } from '../http/written-sum.js';
import type { State } from '../state/database.js';
import { centsOfSum, exactSum } from '../state/exact-sum.js';
import { all, one } from '../state/statements.js';
import { wholeDollars } from '../syndicates/present.js';
import type { Deal } from './model.js';

/** Which identity fields of the investors the caller may see. */
export interface InvestorSight {
  readonly names: boolean;
  readonly emails: boolean;
}

interface Row {
  readonly user_no: number;
  readonly user: string;
  readonly user_name: string;
  readonly user_email: string | null;
  readonly avatar_url: string | null;
  readonly committed: string;
  readonly waiting: number;
  readonly invested_at: number;
}

/** Lists current members only. Investors who left the syndicate count in the totals but are not listed. */
const from = `FROM syndicate_investments v JOIN investments i ON i.no = v.investment_no
  JOIN users u ON u.no = v.investor_no
  JOIN syndicate_members m ON m.syndicate_no = v.syndicate_no AND m.user_no = v.investor_no AND m.standing = 'member'
  LEFT JOIN member_profiles p ON p.user_no = u.no WHERE v.offering_no = :offering`;

const countSql = `SELECT count(DISTINCT v.investor_no) AS count ${from}`;
const pageSql = `SELECT u.no AS user_no, u.id AS user, u.name AS user_name,
  CASE WHEN u.deactivated_at IS NULL THEN u.email END AS user_email, p.avatar_url,
  ${exactSum('v.committed_cents')} AS committed, sum(v.raised_cents = 0) AS waiting, min(i.applied_at) AS invested_at
  ${from} GROUP BY u.no ORDER BY total(v.committed_cents) DESC, u.no LIMIT :limit OFFSET :offset`;

export interface OffsetPage {
  readonly offset: number;
  /** Null for no limit. */
  readonly size: number | null;
}

const sizeMax = 200;

/** Parses offset and page size. Zero, a negative number or no value means no offset or no limit. */
export function offsetPageOf(asked: {
  readonly offset?: string | undefined;
  readonly per_page?: string | undefined;
}): OffsetPage {
  const size = wholeNumber('per_page', asked.per_page);
  return {
    offset: Math.max(wholeNumber('offset', asked.offset), 0),
    size: size <= 0 ? null : Math.min(size, sizeMax),
  };
}

function wholeNumber(parameter: string, text = '0'): number {
  if (!/^[+-]?\d+$/.test(text)) throw badParameter(parameter, `${parameter} must be a whole number.`);
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER);
}

export function investorsOf(state: State, deal: Deal, page: OffsetPage, sight: InvestorSight) {
  const total = one<{ count: number }>(state, countSql, { offering: deal.no })?.count ?? 0;
  // In SQLite a negative LIMIT means no limit.
  const limit = page.size ?? -1;
  const rows = all<Row>(state, pageSql, { offering: deal.no, limit, offset: page.offset });
  return {
    data: rows.map((row) => ({
      id: row.user,
      type: 'deal_investor',
      attributes: {
        user_id: row.user_no,
        user: row.user,
        user_name: sight.names ? row.user_name : null,
        user_email: sight.emails ? row.user_email : null,
        avatar_url: sight.names ? row.avatar_url : null,
        amount: wholeDollars(centsOfSum(row.committed)),
        amount_cents: writtenSum(centsOfSum(row.committed)),
        status: row.waiting === 0 ? 'confirmed' : 'pending',
        invested_at: iso(row.invested_at),
      },
    })),
    meta: {
      count: rows.length,
      total_count: total,
      offset: page.offset,
      per_page: page.size,
      has_more: page.offset + rows.length < total && rows.length > 0,
    },
  };
}
