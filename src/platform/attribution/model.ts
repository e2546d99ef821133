import { createHmac } from 'node:crypto';
import type { AttributedInvestment } from '../contract/attribution.js';
import { derive } from '../investments/derive.js';
import { loadInvestment } from '../investments/model.js';
import type { State } from '../state/database.js';
import { all, one } from '../state/statements.js';

export interface AttributionFilter {
  readonly offeringNo: number;
  readonly from: number;
  /** Exclusive. */
  readonly until: number;
  readonly utmSource: string | null;
  readonly utmCampaign: string | null;
}

/** A checkout started from a referral link. `investment_no` is set once it led to an investment. */
export interface Referred {
  readonly no: number;
  readonly investment_no: number | null;
  readonly investor_no: number;
  readonly clicked_at: number;
  readonly applied_at: number | null;
  readonly committed_cents: number | null;
  readonly utm_source: string | null;
  readonly utm_medium: string | null;
  readonly utm_campaign: string | null;
  readonly utm_content: string | null;
  /** Number of other links to this offering that the same person followed. */
  readonly competing: number;
}

export const referredTo = (state: State, filter: AttributionFilter): readonly Referred[] =>
  all<Referred>(
    state,
    `SELECT x.session_no AS no, s.investment_no, s.recipient_no AS investor_no, x.clicked_at, i.applied_at,
       i.committed_cents, x.utm_source, x.utm_medium, x.utm_campaign, x.utm_content,
       (SELECT count(DISTINCT coalesce('referral ' || y.referral_no, 'invite ' || y.invite_link_no))
        FROM session_sources y JOIN investment_sessions t ON t.no = y.session_no
        WHERE t.offering_no = s.offering_no AND t.recipient_no = s.recipient_no
          AND y.referral_no IS NOT x.referral_no) AS competing
     FROM session_sources x JOIN investment_sessions s ON s.no = x.session_no
     LEFT JOIN investments i ON i.no = s.investment_no
     WHERE x.referral_no IS NOT NULL AND s.offering_no = :offeringNo AND x.clicked_at >= :from AND x.clicked_at < :until
       AND (:utmSource IS NULL OR x.utm_source = :utmSource)
       AND (:utmCampaign IS NULL OR x.utm_campaign = :utmCampaign)
     ORDER BY x.session_no DESC`,
    { ...filter },
  );

const hourMillis = 60 * 60 * 1000;

/** Classifies the time between the click and the commitment. */
export function paceOf(row: Referred): 'direct' | 'assisted' | 'delayed' {
  const took = (row.applied_at ?? row.clicked_at) - row.clicked_at;
  if (took <= hourMillis) return 'direct';
  return took <= 24 * hourMillis ? 'assisted' : 'delayed';
}

const quality = { direct: 'high', assisted: 'medium', delayed: 'low' } as const;

const buckets: Readonly<Record<string, AttributedInvestment['status']['bucket']>> = {
  'NO PAYMENT YET': 'no_payment_yet',
  PENDING: 'pending',
  'IS READY': 'is_ready',
  CONFIRMED: 'confirmed',
};

/** With `full`, includes the investor and the amount; otherwise only tokens that are stable within this offering. */
export function presentReferred(
  state: State,
  row: Referred,
  offeringNo: number,
  full: boolean,
): AttributedInvestment {
  if (row.investment_no === null) throw new Error('a checkout without an investment is not attributed');
  const source = loadInvestment(state, row.investment_no);
  const pace = paceOf(row);
  const units = source.committed_cents / 100;
  const gone = ['canceled', 'converted'].includes(source.status) || source.deleted_at !== null;
  return {
    investment_token: tokenFor(state, `investment:${offeringNo}:${row.investment_no}`),
    investor_token: tokenFor(state, `investor:${offeringNo}:${row.investor_no}`),
    amount_tier: units < 1000 ? 'small' : units < 10_000 ? 'medium' : 'large',
    invested_at: new Date(source.applied_at).toISOString(),
    status: {
      bucket: gone ? 'canceled' : (buckets[source.group_label ?? ''] ?? 'draft'),
      progress_bar: !gone && derive(source).raisedCents > 0,
    },
    attribution: {
      utm_source: row.utm_source,
      utm_campaign: row.utm_campaign,
      utm_medium: row.utm_medium,
      utm_content: row.utm_content,
      clicked_at: new Date(row.clicked_at).toISOString(),
      time_to_invest_bucket: pace,
      quality_score: quality[pace],
      competing_sources: row.competing,
    },
    ...(full ? identityOf(state, source.id, row.investor_no, units) : {}),
  };
}

function identityOf(state: State, investmentId: string, investorNo: number, amount: number) {
  const investor = one<{ id: string; name: string; email: string; username: string; gone: number }>(
    state,
    'SELECT id, name, email, username, deactivated_at IS NOT NULL AS gone FROM users WHERE no = ?',
    [investorNo],
  );
  if (investor === undefined) throw new Error('an attributed investment has no investor');
  const { gone, ...person } = investor;
  return {
    investment_id: investmentId,
    investor: { ...person, email: gone === 1 ? null : person.email },
    amount,
  };
}

function tokenFor(state: State, what: string): string {
  const key = one<{ cursor_key: Buffer }>(state, 'SELECT cursor_key FROM feed')?.cursor_key;
  if (key === undefined) throw new Error('the feed table is empty: the sandbox was never seeded');
  return createHmac('sha256', key).update(`attribution:${what}`).digest('hex').slice(0, 32);
}
