import type { Version } from '../../wire/versions.js';
import { type Round, roundsOfCompany } from '../catalog/rounds.js';
import { listCampaigns } from '../contract/campaigns.js';
import type { Caller } from '../http/caller.js';
import { callerOf, type Exchange, ok, type Reply, type Step } from '../http/exchange.js';
import { pageOf, pageSizeOf } from '../http/paging.js';
import { Problem } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { isoOrNull } from '../http/timestamps.js';
import { writtenSum } from '../http/written-sum.js';
import type { State } from '../state/database.js';
import { all } from '../state/statements.js';

export const campaignRoutes: readonly Route[] = [
  route(listCampaigns, ...guarded, requireFounderView, answerCampaigns),
];

/** Requires a user or an installation on a company, because campaigns show the view of the company's team. */
function requireFounderView(...[exchange]: Parameters<Step>): void {
  const caller = callerOf(exchange);
  if (caller.kind === 'user' || (caller.kind === 'installation' && caller.companyNo !== null)) return;
  throw new Problem(
    403,
    'forbidden',
    'Campaigns need the token of a user or of an installation on a company.',
    {
      remediation: 'Authorize a user, or use the token of a company installation.',
    },
  );
}

const states = { upcoming: 'upcoming', open: 'active', closed: 'closed', canceled: 'canceled' } as const;

function answerCampaigns(exchange: Exchange<typeof listCampaigns>): Reply {
  const { services, now } = exchange;
  const query = exchange.input.query;
  const caller = callerOf(exchange);
  const rounds = companiesRunBy(services.state, caller, exchange.version).flatMap((no) =>
    roundsOfCompany(services, no, now),
  );
  const page = pageOf(services.state, rounds, (round) => [-round.created_at, round.id], {
    cursor: query.cursor,
    size: pageSizeOf(query.per_page),
    list: 'campaigns',
  });
  return ok({ data: page.items.map(campaignResource), meta: page.meta });
}

/** Since 2026-10-15 team membership is not enough: only users who may edit the company see its rounds. */
function companiesRunBy(state: State, caller: Caller, version: Version): readonly number[] {
  if (caller.kind === 'installation') return caller.companyNo === null ? [] : [caller.companyNo];
  if (caller.kind !== 'user') return [];
  return all<{ no: number }>(
    state,
    `SELECT c.no FROM company_members m JOIN companies c ON c.no = m.company_no
     WHERE m.user_no = ? AND c.realm = ? AND m.can_edit >= ?`,
    [caller.userNo, caller.realm, version >= '2026-10-15' ? 1 : 0],
  ).map((row) => row.no);
}

const campaignResource = (round: Round): object => ({
  id: round.id,
  type: 'campaign',
  attributes: {
    state: states[round.status],
    company_id: round.company_no,
    company: round.company_id,
    company_name: round.company_name,
    company_url: round.slug,
    created_at: new Date(round.created_at).toISOString(),
    updated_at: new Date(
      Math.max(round.created_at, round.started_at ?? 0, round.closed_at ?? 0),
    ).toISOString(),
    closed_at: isoOrNull(round.closed_at),
    amount_raised: Number(round.raised_cents) / 100,
    amount_raised_cents: writtenSum(round.raised_cents),
    investor_count: round.investor_count,
  },
});
