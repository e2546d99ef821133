import * as operations from '../contract/members.js';
import { created, type Exchange, type Handler, ok, type Reply } from '../http/exchange.js';
import { badParameter } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { publishDue } from '../investments/publisher.js';
import type { Services } from '../services.js';
import { run } from '../state/statements.js';
import { type Access, accessTo, operatorAccess, requireRank } from '../syndicates/access.js';
import { recordActivity } from '../syndicates/activity.js';
import { membersCsv } from './csv.js';
import { investmentsOf } from './investments.js';
import { invite, resendInvite } from './invite.js';
import { listMembers, sortOf } from './listing.js';
import { findMember, type Member, memberByNo } from './model.js';
import { approve, demote, hide, promote, restore } from './moderate.js';
import { memberResourceOf } from './present.js';
import { useIntents } from './remove.js';
import { reorder } from './reorder.js';

export const memberRoutes: readonly Route[] = [
  route(operations.listMembers, ...guarded, list),
  route(operations.listMemberInvestments, ...guarded, investments),
  route(operations.inviteMember, ...guarded, answerInvite),
  route(operations.updateMember, ...guarded, update),
  route(operations.removeMember, ...guarded, refuseRemoval),
  route(operations.approveMember, ...guarded, acting('operator', approve)),
  route(operations.hideMember, ...guarded, acting('operator', hide)),
  route(operations.restoreMember, ...guarded, acting('operator', restore)),
  route(operations.promoteMember, ...guarded, acting('creator', promote)),
  route(operations.demoteMember, ...guarded, acting('full_access', demote)),
  route(operations.resendInvite, ...guarded, acting('operator', resendInvite)),
  route(operations.reorderMembers, ...guarded, answerReorder),
  route(operations.exportMembers, ...guarded, exportCsv),
];

type Act = (services: Services, access: Access, member: Member, now: number) => Member;

/** Checks the caller's rank before it looks up the member, so a 403 does not reveal whether the member exists. */
function acting(rank: Parameters<typeof requireRank>[1], act: Act): Handler {
  return (exchange) => {
    const { services, now } = exchange;
    const access = requireRank(accessTo(exchange), rank);
    return ok({
      data: memberResourceOf(act(services, access, memberOf(exchange, access), now), 'moderator'),
    });
  };
}

const memberOf = (exchange: Exchange, access: Access): Member =>
  findMember(exchange.services.state, access.syndicate.no, exchange.params.member_id ?? '');

function list(exchange: Exchange<typeof operations.listMembers>): Reply {
  const { services, now } = exchange;
  const { syndicate, moderator, reader } = accessTo(exchange);
  const query = exchange.input.query;
  publishDue(services, now);
  const page = listMembers(
    services.state,
    { syndicateNo: syndicate.no, moderator, reader },
    {
      role: query.role ?? null,
      permission: query.permission ?? null,
      search: query.search ?? null,
      hasInvested: query.has_invested === undefined ? null : query.has_invested === 'true',
      accredited: moderator ? accreditedOf(query.accredited) : null,
      tag: query.tag ?? null,
      location: query.location ?? null,
    },
    sortOf(query.sort, moderator),
    query,
  );
  return ok({
    data: page.items.map((row) => memberResourceOf(row, moderator ? 'moderator' : 'member')),
    meta: page.meta,
  });
}

function accreditedOf(text: string | undefined): boolean | null {
  if (text === undefined) return null;
  if (text !== 'true' && text !== 'false')
    throw badParameter('accredited', 'accredited must be true or false.');
  return text === 'true';
}

function investments(exchange: Exchange): Reply {
  const { services, now } = exchange;
  const member = memberOf(exchange, operatorAccess(exchange));
  publishDue(services, now);
  return ok(investmentsOf(services.state, member));
}

function answerInvite(exchange: Exchange<typeof operations.inviteMember>): Reply {
  const access = operatorAccess(exchange);
  const body = exchange.input.body;
  const invitation = { email: body.email, name: body.name ?? null, permission: body.syndicate_permission };
  return created({
    data: memberResourceOf(invite(exchange.services, access, invitation, exchange.now), 'moderator'),
  });
}

function update(exchange: Exchange<typeof operations.updateMember>): Reply {
  const { services, now } = exchange;
  const access = operatorAccess(exchange);
  const before = memberOf(exchange, access);
  const { member } = exchange.input.body;
  const title = member.title === undefined ? before.title : member.title === '' ? null : member.title;
  const { carry_percentage_override: carry = before.carry_percentage_override } = member;
  services.state.transaction(() => {
    run(
      services.state,
      'UPDATE syndicate_members SET title = ?, carry_percentage_override = ?, updated_at = ? WHERE no = ?',
      [title, carry, now, before.no],
    );
    const what = { syndicateNo: access.syndicate.no, action: 'member.updated', memberNo: before.no };
    recordActivity(services, what, access.userNo, now);
  })();
  return ok({ data: memberResourceOf(memberByNo(services.state, before.no), 'moderator') });
}

/** Rejects also an unknown member, so that the response does not tell who belongs to the syndicate. */
function refuseRemoval(exchange: Exchange): Reply {
  const { syndicate } = operatorAccess(exchange);
  throw useIntents(exchange.params.member_id ?? '', syndicate.id);
}

function answerReorder(exchange: Exchange<typeof operations.reorderMembers>): Reply {
  const access = operatorAccess(exchange);
  const body = exchange.input.body;
  const rows = reorder(exchange.services, access, body.member_ids, exchange.now);
  return ok({ data: rows.map((row) => memberResourceOf(row, 'moderator')), meta: { count: rows.length } });
}

/** The export is a POST because it is recorded in the activity of the syndicate. */
function exportCsv(exchange: Exchange): Reply {
  const { services, now } = exchange;
  const { syndicate, userNo } = operatorAccess(exchange);
  publishDue(services, now);
  recordActivity(services, { syndicateNo: syndicate.no, action: 'members.exported' }, userNo, now);
  return {
    status: 200,
    body: membersCsv(services.state, syndicate.no),
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="members_${syndicate.slug}.csv"`,
    },
  };
}
