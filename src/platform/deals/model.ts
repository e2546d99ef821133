import type { CentsSum } from '../../domain/money.js';
import type { dealStates } from '../contract/deals.js';
import { notFound } from '../http/problem.js';
import type { State } from '../state/database.js';
import { centsOfSum, exactSum } from '../state/exact-sum.js';
import { all, one } from '../state/statements.js';
import type { Access } from '../syndicates/access.js';
import { liveStatuses } from '../syndicates/model.js';

interface DealRow {
  readonly no: number;
  readonly id: string;
  readonly name: string | null;
  readonly status: string;
  readonly company_no: number;
  readonly company: string;
  readonly company_name: string;
  readonly company_slug: string;
  readonly investment_type: string;
  readonly offering_type: string;
  readonly description: string | null;
  readonly funding_target_cents: number | null;
  readonly min_investment_cents: number | null;
  readonly max_investment_cents: number | null;
  readonly created_at: number;
  readonly updated_at: number | null;
  readonly started_at: number | null;
  readonly closed_at: number | null;
}

/** How many investments a deal has, and of how many investors. */
interface DealCounts {
  readonly investor_count: number;
  readonly investment_count: number;
  readonly confirmed_count: number;
}

interface MoneyRow extends DealCounts {
  readonly raised: string;
  readonly committed: string;
}

export type Deal = DealRow &
  DealCounts & { readonly raised_cents: CentsSum; readonly committed_cents: CentsSum };

/** Target and minimum come from the offering, as in the catalog. Description and maximum come from the syndicate. */
const select = `SELECT o.no, o.id, t.name, o.status, o.company_no, c.id AS company, c.name AS company_name,
  c.slug AS company_slug, o.investment_type, o.offering_type, t.description, r.funding_target_cents,
  r.min_investment_cents, t.max_investment_cents, o.created_at, t.updated_at, o.started_at, o.closed_at
  FROM offerings o JOIN companies c ON c.no = o.company_no LEFT JOIN deal_terms t ON t.offering_no = o.no
  LEFT JOIN offering_terms r ON r.offering_no = o.no`;

/** Computes all totals of a deal in one scan of its investments. */
const moneySql = `SELECT ${exactSum('raised_cents')} AS raised,
  ${exactSum('committed_cents')} AS committed, count(DISTINCT investor_no) AS investor_count,
  count(*) AS investment_count, coalesce(sum(raised_cents > 0), 0) AS confirmed_count
  FROM syndicate_investments WHERE offering_no = ?`;

function withMoney(state: State, row: DealRow): Deal {
  const money = one<MoneyRow>(state, moneySql, [row.no]);
  if (money === undefined) throw new Error('an aggregate query returned no row');
  const { raised, committed, ...counts } = money;
  return { ...row, ...counts, raised_cents: centsOfSum(raised), committed_cents: centsOfSum(committed) };
}

const byId = `${select} WHERE o.syndicate_no = ? AND o.id = ?`;
const live = `${select} WHERE o.syndicate_no = :syndicate AND o.status IN ${liveStatuses}
  AND (:after IS NULL OR o.no < :after) ORDER BY o.no DESC LIMIT :limit`;

/** Returns the deal. Throws a 404 for a deal of another syndicate, and for an upcoming deal unless a manager asks. */
export function findDeal(state: State, { syndicate, moderator }: Access, id: string): Deal {
  const row = one<DealRow>(state, byId, [syndicate.no, id]);
  if (row === undefined || (row.status === 'upcoming' && !moderator)) throw notFound(`The deal ${id}`);
  return withMoney(state, row);
}

export const liveDeals = (state: State, syndicateNo: number, after: number | null, limit: number): Deal[] =>
  all<DealRow>(state, live, { syndicate: syndicateNo, after, limit }).map((row) => withMoney(state, row));

/** Maps the status of a round to one of the four deal states of the API. */
export function statusOf(deal: Pick<Deal, 'status'>): (typeof dealStates)[number] {
  switch (deal.status) {
    case 'upcoming':
    case 'canceled':
    case 'closed':
      return deal.status;
    default:
      return 'open';
  }
}
