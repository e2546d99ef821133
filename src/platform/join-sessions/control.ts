import { baseUrl } from '../http/base-url.js';
import { type Exchange, ok } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import type { Route } from '../http/route.js';
import { endMembership, type WayOut } from '../members/join-and-leave.js';
import { type Member, memberByNo } from '../members/model.js';
import { controlRoute } from '../sandbox/control/control-route.js';
import { one } from '../state/statements.js';
import { syndicateByNo } from '../syndicates/model.js';
import { joinUrl } from './present.js';

const at = (path: string): string => `/_sandbox/syndicate_members/{id}${path}`;

/** Control calls that stand in for invitation emails, people and banks, which a sandbox does not have. */
export const joinControl: readonly Route[] = [
  controlRoute('GET', at('/invitation'), null, (exchange) => {
    const { invite_token: token } = memberOf(exchange);
    if (token === null) throw new Problem(400, 'invalid_params', 'This member has no open invitation.');
    return ok({ url: joinUrl(baseUrl(exchange), token) });
  }),
  controlRoute('POST', at('/leave'), null, (exchange) => going(exchange, 'leave')),
  controlRoute('POST', at('/withdraw'), null, (exchange) => going(exchange, 'withdraw')),
  controlRoute('POST', at('/decline'), null, (exchange) => going(exchange, 'decline')),
  controlRoute('POST', at('/fail_payment'), null, (exchange) => going(exchange, 'payment_failed')),
];

function memberOf(exchange: Exchange): Member {
  const { state } = exchange.services;
  const row = one<{ no: number }>(state, 'SELECT no FROM syndicate_members WHERE id = ?', [
    exchange.params.id ?? '',
  ]);
  if (row === undefined) throw notFound('The member');
  return memberByNo(state, row.no);
}

function going(exchange: Exchange, way: WayOut) {
  const { services, now } = exchange;
  const member = memberOf(exchange);
  const after = services.state.transaction(() =>
    endMembership(services, syndicateByNo(services.state, member.syndicate_no), member, way, now),
  )();
  if (after === null) {
    throw new Problem(400, 'invalid_params', `${member.id} cannot do this: the role is ${member.role}.`);
  }
  return ok({ id: after.id, role: after.role });
}
