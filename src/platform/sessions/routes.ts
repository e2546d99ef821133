import * as operations from '../contract/sessions.js';
import { callerOf, created, type Exchange, ok, type Reply } from '../http/exchange.js';
import { idempotent } from '../http/idempotent.js';
import { newestFirst } from '../http/newest-first.js';
import { invalidFields, notFound, Problem } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { spendIp } from '../http/steps/spend.js';
import { countInvite } from '../invite-links/invited.js';
import { announceReferred } from '../referrals/referred.js';
import { answerCheckout, openCheckout } from './checkout.js';
import { createSession } from './create.js';
import { cancelSession, settleSessions } from './lifecycle.js';
import { findSession, isActive, listSessions, type Session } from './model.js';
import {
  findOfferingById,
  offeringByNo,
  offeringIdOf,
  reachedOfferings,
  reachOffering,
  requireAccess,
} from './offering-access.js';
import { presentSession, presentWithEvents } from './present.js';

const reads = [...guarded, settle] as const;
const writes = [...guarded, settle] as const;

export const sessionRoutes: readonly Route[] = [
  route(operations.listOfferingSessions, ...reads, reachPath, listOnOffering),
  route(operations.createSession, ...writes, reachPath, idempotent(create)),
  route(operations.listSessions, ...reads, listAll),
  route(operations.getSession, ...reads, (exchange) => ok(presentWithEvents(exchange, reached(exchange)))),
  route(operations.cancelSession, ...writes, cancel),
  route(operations.openCheckout, spendIp('ip'), settle, openCheckout),
  route(operations.answerCheckout, spendIp('ip'), settle, answerCheckout([announceReferred, countInvite])),
];

function settle(exchange: Exchange): void {
  settleSessions(exchange.services, exchange.now);
}

/** Checks access before the body is validated, so that the access error does not depend on the body. */
function reachPath(exchange: Exchange): void {
  reachOffering(exchange, exchange.params.id ?? '');
}

function create(exchange: Exchange<typeof operations.createSession>): Reply {
  const offering = reachOffering(exchange, exchange.params.id ?? '');
  const body = exchange.input.body;
  const { session, made } = createSession(exchange, offering, body.investment_session);
  return (made ? created : ok)(presentWithEvents(exchange, session));
}

function listOnOffering(exchange: Exchange<typeof operations.listOfferingSessions>): Reply {
  return list(exchange, [reachOffering(exchange, exchange.params.id ?? '').no]);
}

function listAll(exchange: Exchange<typeof operations.listSessions>): Reply {
  const { spv_id: spvId } = exchange.input.query;
  if (spvId === undefined) return list(exchange, reachedOfferings(exchange));
  const offering = findOfferingById(exchange.services.state, offeringIdOf(spvId));
  if (offering === undefined || offering.realm !== callerOf(exchange).realm) throw notFound('The SPV');
  requireAccess(exchange, offering);
  return list(exchange, [offering.no]);
}

function list(
  exchange: Exchange<typeof operations.listOfferingSessions>,
  offerings: readonly number[],
): Reply {
  const caller = callerOf(exchange);
  const query = exchange.input.query;
  const subject = `sessions:${caller.realm}:${caller.app.no}`;
  const filter = {
    applicationNo: caller.app.no,
    realm: caller.realm,
    offerings,
    status: statusOf(query.status),
  };
  const read = (before: number, limit: number) =>
    listSessions(exchange.services.state, { ...filter, before, limit });
  return ok(newestFirst(exchange, subject, query, read, (row) => presentSession(exchange, row), refuse));
}

/** The specification declares 422, and no 400, for the lists of sessions. */
const refuse = (field: string, message: string): Problem =>
  invalidFields([{ field, code: 'invalid', message }]);

function statusOf(text: string | undefined): Session['status'] | null {
  if (text === undefined) return null;
  const status = operations.sessionStatuses.find((known) => known === text);
  if (status !== undefined) return status;
  throw refuse('status', `status: must be one of ${operations.sessionStatuses.join(', ')}.`);
}

/** Returns the session. Throws a 404 for a session of another application. */
function reached(exchange: Exchange): Session {
  const { app, realm } = callerOf(exchange);
  const { state } = exchange.services;
  const session = findSession(state, app.no, realm, exchange.params.id ?? '');
  if (session === undefined) throw notFound('The investment session');
  requireAccess(exchange, offeringByNo(state, session.offering_no));
  return session;
}

function cancel(exchange: Exchange): Reply {
  const session = reached(exchange);
  if (session.status === 'canceled') return ok(presentWithEvents(exchange, session));
  if (!isActive(session)) {
    throw new Problem(
      422,
      'session_not_cancelable',
      `The session is ${session.status} and cannot be canceled.`,
    );
  }
  return ok(presentWithEvents(exchange, cancelSession(exchange.services, session, exchange.now)));
}
