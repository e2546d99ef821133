import * as operations from '../contract/join-sessions.js';
import { baseUrl } from '../http/base-url.js';
import { callerOf, created, type Exchange, ok, type Reply } from '../http/exchange.js';
import { pageSizeOf, readPage } from '../http/paging.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { spendIp } from '../http/steps/spend.js';
import { operatorAccess } from '../syndicates/access.js';
import { createJoinSession, installationFor } from './create.js';
import { type JoinSession, listedSessions } from './model.js';
import { joinSessionResourceOf } from './present.js';
import { expireDue } from './transitions.js';
import { answerJoinPage, openJoinPage } from './visit-link.js';

const anyone = spendIp('ip');

export const joinSessionRoutes: readonly Route[] = [
  route(operations.createJoinSession, ...guarded, create),
  route(operations.listJoinSessions, ...guarded, list),
  route(operations.openJoinPage, anyone, openJoinPage),
  route(operations.answerJoinPage, anyone, answerJoinPage),
];

function create(exchange: Exchange<typeof operations.createJoinSession>): Reply {
  const { services, now } = exchange;
  const access = operatorAccess(exchange);
  const installation = installationFor(services.state, callerOf(exchange), access);
  const body = exchange.input.body;
  const session = createJoinSession(services, access, installation, body.join_session, now);
  return created({ data: joinSessionResourceOf(session, baseUrl(exchange)) });
}

function list(exchange: Exchange<typeof operations.listJoinSessions>): Reply {
  const { services, now } = exchange;
  const { state } = services;
  const access = operatorAccess(exchange);
  const installation = installationFor(state, callerOf(exchange), access);
  const query = exchange.input.query;
  expireDue(services, now);
  const filters = { status: query.status ?? null, email: query.email ?? null };
  const list = `join_sessions:${access.reader}:${installation}:${JSON.stringify(filters)}`;
  const page = readPage<JoinSession, readonly [number]>(
    state,
    { list, cursor: query.cursor, size: pageSizeOf(query.per_page) },
    (after, limit) => listedSessions(state, installation, filters, after?.[0] ?? null, limit),
    (session) => [session.no],
  );
  const base = baseUrl(exchange);
  return ok({ data: page.items.map((session) => joinSessionResourceOf(session, base)), meta: page.meta });
}
