import type { z } from 'zod';
import * as operations from '../contract/attribution.js';
import { callerOf, created, type Exchange, ok, type Reply } from '../http/exchange.js';
import { newestFirst } from '../http/newest-first.js';
import { invalidFields, notFound, Problem } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { refuseWithout } from '../http/steps/refuse-without.js';
import { iso } from '../http/timestamps.js';
import { reachedOfferings, reachOffering } from '../sessions/offering-access.js';
import { newSecret } from '../state/secrets.js';
import { all, one, run } from '../state/statements.js';
import { type AttributionFilter, paceOf, presentReferred, type Referred, referredTo } from './model.js';

export const attributionRoutes: readonly Route[] = [
  route(operations.attributionStats, ...guarded, reachPath, stats),
  route(operations.attributionInvestments, ...guarded, reachPath, investments),
  route(operations.attributionMe, ...guarded, me),
  route(operations.attributionCampaigns, ...guarded, campaigns),
  route(operations.registerPartner, ...guarded, register),
  route(operations.listAttributionInvites, ...guarded, listInvites),
  route(operations.createAttributionInvite, ...guarded, createInvite),
  route(operations.revokeAttributionInvite, ...guarded, revokeInvite),
];

const dayMillis = 24 * 60 * 60 * 1000;
const dateOf = (at: number): string => new Date(at).toISOString().slice(0, 10);
const metaOf = (exchange: Exchange) => ({ request_id: exchange.requestId });

function reachPath(exchange: Exchange): void {
  reachOffering(exchange, exchange.params.id ?? '');
}

type Query = z.output<typeof operations.attributionStats.query>;

function filterOf(exchange: Exchange, query: Query): AttributionFilter & { readonly end: string } {
  const start = query.start_date ?? dateOf(exchange.now - 90 * dayMillis);
  const end = query.end_date ?? dateOf(exchange.now);
  return {
    offeringNo: reachOffering(exchange, exchange.params.id ?? '').no,
    from: Date.parse(start),
    until: Date.parse(end) + dayMillis,
    utmSource: query.utm_source ?? null,
    utmCampaign: query.utm_campaign ?? null,
    end,
  };
}

function stats(exchange: Exchange<typeof operations.attributionStats>): Reply {
  const { end, ...filter } = filterOf(exchange, exchange.input.query);
  const clicks = referredTo(exchange.services.state, filter);
  const done = clicks.filter((row) => row.investment_no !== null);
  const paces = done.map(paceOf);
  const count = (pace: string) => paces.filter((one) => one === pace).length;
  return ok({
    data: {
      campaign_id: exchange.params.id,
      period: { start_date: dateOf(filter.from), end_date: end },
      totals: {
        investment_count: done.length,
        total_amount: sum(done),
        unique_investors: new Set(done.map((row) => row.investor_no)).size,
        conversion_rate: clicks.length === 0 ? 0 : done.length / clicks.length,
      },
      quality_breakdown: { direct: count('direct'), assisted: count('assisted'), delayed: count('delayed') },
      by_source: slices(done, (row) => row.utm_source),
      by_campaign: slices(done, (row) => row.utm_campaign),
    },
    meta: metaOf(exchange),
  });
}

const sum = (rows: readonly Referred[]): number =>
  rows.reduce((cents, row) => cents + (row.committed_cents ?? 0), 0) / 100;

function slices(rows: readonly Referred[], nameOf: (row: Referred) => string | null) {
  const names = [...new Set(rows.map(nameOf))];
  return names.map((name) => {
    const own = rows.filter((row) => nameOf(row) === name);
    return { name, investment_count: own.length, total_amount: sum(own) };
  });
}

function investments(exchange: Exchange<typeof operations.attributionInvestments>): Reply {
  const query = exchange.input.query;
  const full = query.detail_level === 'full';
  if (full) refuseWithout(exchange, ['read:attribution:full']);
  const { end: _, ...filter } = filterOf(exchange, query);
  const subject = `attribution:${filter.offeringNo}`;
  const { state } = exchange.services;
  const referred = referredTo(state, filter).filter((row) => row.investment_no !== null);
  const page = newestFirst(
    exchange,
    subject,
    query,
    (before, limit) => referred.filter(({ no }) => no < before).slice(0, limit),
    (row) => presentReferred(state, row, filter.offeringNo, full),
  );
  const can = callerOf(exchange).scopes.has('read:attribution:full');
  return ok({ ...page, meta: { ...page.meta, detail_level: query.detail_level, can_view_full: can } });
}

function personOf(exchange: Exchange): number {
  const caller = callerOf(exchange);
  if (caller.kind === 'user') return caller.userNo;
  throw new Problem(403, 'forbidden', 'This operation needs the token of a user.');
}

interface PartnerRow {
  readonly company_name: string;
  readonly website: string;
  readonly status: operations.PartnerResource['status'];
  readonly created_at: number;
}

function partnerOf(exchange: Exchange, userNo: number): operations.PartnerResource | null {
  const row = one<PartnerRow>(
    exchange.services.state,
    'SELECT company_name, website, status, created_at FROM attribution_partners WHERE user_no = ?',
    [userNo],
  );
  return row === undefined ? null : { ...row, created_at: iso(row.created_at) };
}

function me(exchange: Exchange): Reply {
  const userNo = personOf(exchange);
  const user = one<{ id: string; name: string }>(
    exchange.services.state,
    'SELECT id, name FROM users WHERE no = ?',
    [userNo],
  );
  return ok({ data: { user, partner: partnerOf(exchange, userNo) }, meta: metaOf(exchange) });
}

function campaigns(exchange: Exchange): Reply {
  const level = callerOf(exchange).scopes.has('read:attribution:full') ? 2 : 1;
  const data = all<{ id: string; company: string; company_name: string }>(
    exchange.services.state,
    `SELECT o.id, c.id AS company, c.name AS company_name FROM offerings o JOIN companies c ON c.no = o.company_no
     WHERE o.no IN (SELECT value FROM json_each(?)) ORDER BY o.no`,
    [JSON.stringify(reachedOfferings(exchange))],
  ).map((row) => ({ ...row, access_level: level }));
  return ok({ data, meta: metaOf(exchange) });
}

function register(exchange: Exchange<typeof operations.registerPartner>): Reply {
  const userNo = personOf(exchange);
  const body = exchange.input.body;
  if (partnerOf(exchange, userNo) !== null) {
    throw new Problem(409, 'conflict', 'This person has applied already.');
  }
  run(
    exchange.services.state,
    `INSERT INTO attribution_partners (user_no, company_name, website, status, created_at) VALUES (?, ?, ?, 'pending', ?)`,
    [userNo, body.company_name, body.website, exchange.now],
  );
  return created({ data: partnerOf(exchange, userNo), meta: metaOf(exchange) });
}

interface InviteRow {
  readonly token: string;
  readonly direction: operations.AttributionInvite['direction'];
  readonly company_id: string;
  readonly partner_email: string | null;
  readonly access_level: 1 | 2;
  readonly created_at: number;
  readonly expires_at: number;
  readonly accepted_at: number | null;
  readonly revoked_at: number | null;
}

/** Lifetime of an invite. */
const inviteMillis = 30 * dayMillis;

function invitesOf(exchange: Exchange): readonly operations.AttributionInvite[] {
  const { app, realm } = callerOf(exchange);
  return all<InviteRow>(
    exchange.services.state,
    `SELECT v.token, v.direction, c.id AS company_id, v.partner_email, v.access_level, v.created_at, v.expires_at,
       v.accepted_at, v.revoked_at FROM attribution_invites v JOIN companies c ON c.no = v.company_no
     WHERE v.user_no = ? AND v.application_no = ? AND v.realm = ? ORDER BY v.no DESC`,
    [personOf(exchange), app.no, realm],
  ).map(({ accepted_at, revoked_at, ...row }) => ({
    ...row,
    status:
      revoked_at !== null
        ? 'revoked'
        : accepted_at !== null
          ? 'accepted'
          : row.expires_at <= exchange.now
            ? 'expired'
            : 'pending',
    created_at: iso(row.created_at),
    expires_at: iso(row.expires_at),
  }));
}

function listInvites(exchange: Exchange): Reply {
  return ok({ data: invitesOf(exchange), meta: metaOf(exchange) });
}

function createInvite(exchange: Exchange<typeof operations.createAttributionInvite>): Reply {
  const { services, now } = exchange;
  const { app, realm } = callerOf(exchange);
  const userNo = personOf(exchange);
  const body = exchange.input.body;
  const company = one<{ no: number; edits: number }>(
    services.state,
    `SELECT c.no, EXISTS (SELECT 1 FROM company_members m WHERE m.company_no = c.no AND m.user_no = ? AND m.can_edit = 1)
       AS edits FROM companies c WHERE c.id = ? AND c.realm = ?`,
    [userNo, body.company_id, realm],
  );
  if (company === undefined) throw notFound('The company');
  requireSide(exchange, body, company.edits === 1, userNo);
  run(
    services.state,
    `INSERT INTO attribution_invites (token, application_no, realm, user_no, direction, company_no, partner_email,
       access_level, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      newSecret(services.random, 'av_'),
      app.no,
      realm,
      userNo,
      body.direction,
      company.no,
      body.partner_email ?? null,
      body.access_level,
      now,
      now + inviteMillis,
    ],
  );
  return created({ data: invitesOf(exchange)[0], meta: metaOf(exchange) });
}

/** A founder invites a partner by email; an approved partner asks a company. Throws a `Problem` otherwise. */
function requireSide(
  exchange: Exchange,
  body: z.output<typeof operations.createAttributionInvite.body>,
  edits: boolean,
  userNo: number,
): void {
  if (body.direction === 'founder_to_partner') {
    if (!edits)
      throw new Problem(403, 'forbidden', 'Only people who can edit the company may invite partners.');
    if (body.partner_email == null) {
      const message = 'partner_email: give the email of the partner.';
      throw invalidFields([{ field: 'partner_email', code: 'required', message }]);
    }
  } else if (partnerOf(exchange, userNo)?.status !== 'approved') {
    throw new Problem(403, 'forbidden', 'Only an approved partner may ask a company.', {
      remediation: 'Apply with POST /attribution/partners/register.',
    });
  }
}

function revokeInvite(exchange: Exchange): Reply {
  const { app, realm } = callerOf(exchange);
  const { changes } = run(
    exchange.services.state,
    `UPDATE attribution_invites SET revoked_at = coalesce(revoked_at, ?)
     WHERE token = ? AND user_no = ? AND application_no = ? AND realm = ?`,
    [exchange.now, exchange.params.token ?? '', personOf(exchange), app.no, realm],
  );
  if (changes === 0) throw notFound('The invite');
  return { status: 204, body: undefined };
}
