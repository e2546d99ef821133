import { type CentsSum, centsSum } from '../../domain/money.js';
import { dollarsOf, dollarsOrNull } from '../catalog/money.js';
import { type CompanyRow, type Round, roundsOfCompany } from '../catalog/rounds.js';
import { exemptionOf, securityKindOf } from '../catalog/securities.js';
import { siteUrl } from '../catalog/site.js';
import type { Viewer } from '../catalog/viewer.js';
import { roundVisible } from '../catalog/visibility.js';
import type { ExemptionFamily } from '../contract/vocabulary.js';
import { isoOrNull } from '../http/timestamps.js';
import { writtenSum } from '../http/written-sum.js';
import type { Services } from '../services.js';
import { all } from '../state/statements.js';

interface ReportedRound {
  readonly exemption: ExemptionFamily;
  readonly amount_cents: number;
  readonly investor_count: number | null;
  readonly opened_at: number | null;
  readonly closed_at: number | null;
}

const startOf = (round: Round): number => round.started_at ?? round.created_at;

/** Returns the rounds of a company that the viewer may see, newest first. */
export function visibleRounds(
  services: Services,
  companyNo: number,
  viewer: Viewer,
  now: number,
): readonly Round[] {
  return roundsOfCompany(services, companyNo, now)
    .filter((round) => roundVisible(round, viewer))
    .sort((a, b) => startOf(b) - startOf(a) || b.no - a.no);
}

/** Returns the rounds shown as the current raise: open rounds that accept money, otherwise those taking reservations. */
export function liveLegs(rounds: readonly Round[]): readonly Round[] {
  const open = rounds.filter((round) => round.status === 'open');
  const taking = open.filter((round) => round.testing_the_waters === 0);
  return taking.length > 0 ? taking : open;
}

export function companyResource(
  services: Services,
  company: CompanyRow,
  viewer: Viewer,
  now: number,
): object {
  const rounds = visibleRounds(services, company.company_no, viewer, now);
  const served = rounds.filter((round) => round.status === 'open' || round.status === 'closed');
  const reported = all<ReportedRound>(
    services.state,
    'SELECT * FROM reported_rounds WHERE company_no = ? ORDER BY closed_at DESC, no DESC',
    [company.company_no],
  );
  const closed = served.filter((round) => round.status === 'closed');
  const legs = liveLegs(rounds);
  const folded = company.ticker_includes_past === 1;
  const past = closed.length + reported.length;
  const allTime = centsSum(...served.map((round) => round.raised_cents));
  const elsewhere = centsSum(...reported.map((round) => round.amount_cents));
  const ticker = folded ? centsSum(allTime, elsewhere) : centsSum(...legs.map((round) => round.raised_cents));
  return {
    id: company.company_id,
    type: 'company',
    attributes: {
      name: company.company_name,
      tagline: company.tagline,
      url: siteUrl(services, company.slug),
      logo_url: company.logo_url,
      card_image_url: company.card_image_url,
      location: { city: company.city, state: company.state, country: company.country },
      raising: legs.length > 0,
      current_raise: currentRaise(legs),
      past_rounds: folded ? [...closed.map(foldedRound), ...reported.map(reportedRound)] : [],
      service_rounds: served.map((round) => serviceRound(round, legs)),
      totals: {
        raised_on_service_all_time: dollarsOf(allTime),
        raised_on_service_all_time_cents: writtenSum(allTime),
        profile_total_raised: dollarsOf(ticker),
        profile_total_raised_cents: writtenSum(ticker),
        profile_reported_off_platform: dollarsOf(elsewhere),
        profile_reported_off_platform_cents: writtenSum(elsewhere),
        profile_includes_past_rounds: past === 0 ? null : folded,
      },
    },
  };
}

function currentRaise(legs: readonly Round[]): object | null {
  const lead = legs[0];
  if (lead === undefined) return null;
  const raised = centsSum(...legs.map((leg) => leg.raised_cents));
  const targets = legs.flatMap((leg) => leg.funding_target_cents ?? []);
  const target = targets.length === 0 ? null : centsSum(...targets);
  return {
    offering_id: lead.id,
    offering_ids: legs.map((leg) => leg.id),
    testing_the_waters: lead.testing_the_waters === 1,
    amount_raised: dollarsOf(raised),
    amount_raised_cents: writtenSum(raised),
    funding_target: dollarsOrNull(target),
    funding_target_cents: target === null ? null : writtenSum(target),
    investor_count: legs.reduce((total, leg) => total + leg.investor_count, 0),
    oversubscribed:
      lead.max_funding_target_cents !== null && lead.raised_cents > lead.max_funding_target_cents,
    closes_at: isoOrNull(lead.closes_at),
  };
}

const amounts = (cents: CentsSum) => ({
  amount_raised: dollarsOf(cents),
  amount_raised_cents: writtenSum(cents),
});

const foldedRound = (round: Round): object => ({
  offering_id: round.id,
  source: 'service',
  exemption: exemptionOf(round.exemption, round.exemption_subtype),
  ...amounts(round.raised_cents),
  investor_count: round.investor_count,
  opened_at: isoOrNull(round.started_at),
  closed_at: isoOrNull(round.closed_at),
});

const reportedRound = (round: ReportedRound): object => ({
  offering_id: null,
  source: 'reported',
  exemption: exemptionOf(round.exemption, null),
  ...amounts(round.amount_cents),
  investor_count: round.investor_count,
  opened_at: isoOrNull(round.opened_at),
  closed_at: isoOrNull(round.closed_at),
});

const serviceRound = (round: Round, legs: readonly Round[]): object => ({
  offering_id: round.id,
  current: legs.includes(round),
  status: round.status,
  exemption: exemptionOf(round.exemption, round.exemption_subtype),
  security:
    round.testing_the_waters === 1 || round.security_type === null
      ? null
      : securityKindOf(round.security_type),
  ...amounts(round.raised_cents),
  investor_count: round.investor_count,
  opened_at: isoOrNull(round.started_at),
  closed_at: isoOrNull(round.closed_at),
});
