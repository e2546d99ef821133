import { z } from 'zod';
import * as operations from '../contract/referrals.js';
import { callerOf, created, type Exchange, ok, type Reply } from '../http/exchange.js';
import { idempotent } from '../http/idempotent.js';
import { newestFirst } from '../http/newest-first.js';
import { notFound, Problem } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { spendIp } from '../http/steps/spend.js';
import { controlRoute } from '../sandbox/control/control-route.js';
import { findOfferingById } from '../sessions/offering-access.js';
import { one } from '../state/statements.js';
import { answerInvest, openInvest } from './invest.js';
import {
  acceptTerms,
  disableReferral,
  insertReferralCode,
  listReferrals,
  ownReferral,
  presentReferral,
  type ReferralCode,
  termsAccepted,
} from './model.js';

export const referralRoutes: readonly Route[] = [
  route(operations.createReferralCode, ...guarded, requireTerms, idempotent(create)),
  route(operations.listReferralCodes, ...guarded, list),
  route(operations.getReferralCode, ...guarded, (exchange) => single(exchange, own(exchange))),
  route(operations.disableReferralCode, ...guarded, (exchange) =>
    single(exchange, disableReferral(exchange.services.state, own(exchange), exchange.now)),
  ),
  route(operations.openInvest, spendIp('ip'), openInvest),
  route(operations.answerInvest, spendIp('ip'), answerInvest),
];

function requireTerms(exchange: Exchange): void {
  if (termsAccepted(exchange.services.state, callerOf(exchange).app.organization_no)) return;
  throw new Problem(
    422,
    'attribution_terms_required',
    'The organization of this application has not accepted the attribution terms.',
    { remediation: 'An owner or admin accepts them in the developer portal.' },
  );
}

function create(exchange: Exchange<typeof operations.createReferralCode>): Reply {
  const { app, realm } = callerOf(exchange);
  const body = exchange.input.body;
  const offering =
    body.offering_id == null ? null : findOfferingById(exchange.services.state, body.offering_id);
  if (offering === undefined || (offering !== null && offering.realm !== realm))
    throw notFound('The offering');
  const code = insertReferralCode(
    exchange.services,
    { application_no: app.no, realm, offering_no: offering?.no ?? null, label: body.label ?? null },
    exchange.now,
  );
  return single(exchange, code, created);
}

function list(exchange: Exchange<typeof operations.listReferralCodes>): Reply {
  const { app, realm } = callerOf(exchange);
  const query = exchange.input.query;
  const subject = `referrals:${realm}:${app.no}`;
  const read = (before: number, limit: number) =>
    listReferrals(exchange.services.state, app.no, realm, before, limit);
  return ok(newestFirst(exchange, subject, query, read, (row) => presentReferral(exchange, row)));
}

function own(exchange: Exchange): ReferralCode {
  const { app, realm } = callerOf(exchange);
  const code = ownReferral(exchange.services.state, app.no, realm, exchange.params.id ?? '');
  if (code === undefined) throw notFound('The referral code');
  return code;
}

const single = (exchange: Exchange, code: ReferralCode, reply: (body: unknown) => Reply = ok): Reply =>
  reply({ data: presentReferral(exchange, code), meta: { request_id: exchange.requestId } });

const termsBody = z.strictObject({ organization: z.string().optional(), accepted: z.boolean() });

/** Replaces the portal action of an owner: `PUT /_sandbox/attribution-terms {accepted: false}`. */
export const referralControl: readonly Route[] = [
  controlRoute('PUT', '/_sandbox/attribution-terms', termsBody, (exchange, body) => {
    const { state } = exchange.services;
    const organization = one<{ no: number }>(
      state,
      'SELECT no FROM organizations WHERE :id IS NULL OR id = :id ORDER BY no LIMIT 1',
      { id: body.organization ?? null },
    );
    if (organization === undefined) throw notFound('The organization');
    acceptTerms(state, organization.no, body.accepted, exchange.now);
    return ok({ accepted: body.accepted });
  }),
];
