import type { z } from 'zod';
import * as operations from '../contract/invite-links.js';
import { baseUrl } from '../http/base-url.js';
import { callerOf, created, type Exchange, ok, type Reply } from '../http/exchange.js';
import { idempotent } from '../http/idempotent.js';
import { newestFirst } from '../http/newest-first.js';
import { invalidFields, notFound, Problem } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { spendIp } from '../http/steps/spend.js';
import { iso, isoOrNull } from '../http/timestamps.js';
import { wording } from '../http/wording.js';
import { type Offering, reachOffering, requireOpen } from '../sessions/offering-access.js';
import { one } from '../state/statements.js';
import { answerInvited, openInvited } from './invited.js';
import {
  changeInvite,
  eventsOf,
  findInvite,
  type InviteLink,
  insertInvite,
  inviteByNo,
  isActive,
  isPersonal,
  listInvites,
  recordEvent,
  revokeInvite,
} from './model.js';

const reads = [...guarded, reachPath] as const;
const writes = [...guarded, reachPath] as const;

export const inviteLinkRoutes: readonly Route[] = [
  route(operations.listInviteLinks, ...reads, list),
  route(operations.createInviteLink, ...writes, idempotent(create)),
  route(operations.bulkInviteLinks, ...writes, idempotent(bulk)),
  route(operations.getInviteLink, ...reads, (exchange) => withEvents(exchange, own(exchange))),
  route(operations.updateInviteLink, ...writes, update),
  route(operations.cancelInviteLink, ...writes, (exchange) =>
    single(exchange, revokeInvite(exchange.services.state, own(exchange), exchange.now)),
  ),
  route(operations.resendInviteLink, ...writes, resend),
  route(operations.openInvited, spendIp('ip'), openInvited),
  route(operations.answerInvited, spendIp('ip'), answerInvited),
];

/** Checks access before the body is validated, so that the access error does not depend on the body. */
function reachPath(exchange: Exchange): void {
  offeringOf(exchange);
}

const offeringOf = (exchange: Exchange): Offering => reachOffering(exchange, exchange.params.id ?? '');

function create(exchange: Exchange<typeof operations.createInviteLink>): Reply {
  const body = exchange.input.body;
  return single(exchange, make(exchange, offeringOf(exchange), body.invite_link), created);
}

function make(exchange: Exchange, offering: Offering, wish: operations.InviteWish): InviteLink {
  requireOpen(offering);
  const { services, now } = exchange;
  return services.state.transaction(() =>
    insertInvite(services, callerOf(exchange).app.no, offering, wish, accountOf(exchange, wish), now),
  )();
}

function accountOf(exchange: Exchange, wish: operations.InviteWish): number | null {
  if (wish.service_user_id == null) return null;
  const user = one<{ no: number }>(
    exchange.services.state,
    'SELECT no FROM users WHERE id = ? AND deactivated_at IS NULL',
    [wish.service_user_id],
  );
  if (user === undefined) throw notFound('The user');
  return user.no;
}

function bulk(exchange: Exchange<typeof operations.bulkInviteLinks>): Reply {
  const offering = offeringOf(exchange);
  const { invite_links: items } = exchange.input.body;
  const data: unknown[] = [];
  const errors: { index: number; type: string; detail: string }[] = [];
  for (const [index, item] of items.entries()) {
    const parsed = operations.inviteWish.safeParse(item, { error: wording });
    if (!parsed.success) {
      errors.push({ index, ...wrong(parsed.error) });
    } else if (parsed.data.email == null && parsed.data.service_user_id == null) {
      errors.push({ index, type: 'validation_error', detail: 'email: every item needs a recipient.' });
    } else {
      try {
        data.push(present(exchange, make(exchange, offering, parsed.data)));
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        errors.push({ index, type: error.type, detail: error.message });
      }
    }
  }
  const meta = { created: data.length, failed: errors.length, request_id: exchange.requestId };
  return { status: 207, body: { data, errors, meta } };
}

function wrong(error: z.ZodError): { type: string; detail: string } {
  const exclusive = error.issues.some((issue) => issue.code === 'custom' && issue.params?.exclusive === true);
  const detail = error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}.`).join(' ');
  return { type: exclusive ? 'mutually_exclusive_params' : 'validation_error', detail };
}

function list(exchange: Exchange<typeof operations.listInviteLinks>): Reply {
  const { app } = callerOf(exchange);
  const offering = offeringOf(exchange);
  const query = exchange.input.query;
  const subject = `invites:${app.no}:${offering.no}`;
  const read = (before: number, limit: number) =>
    listInvites(exchange.services.state, app.no, offering.no, before, limit);
  return ok(newestFirst(exchange, subject, query, read, (row) => present(exchange, row)));
}

function own(exchange: Exchange): InviteLink {
  const { app } = callerOf(exchange);
  const id = exchange.params.invite_link_id ?? '';
  const link = findInvite(exchange.services.state, app.no, offeringOf(exchange).no, id);
  if (link === undefined) throw notFound('The invite link');
  return link;
}

function update(exchange: Exchange<typeof operations.updateInviteLink>): Reply {
  const link = own(exchange);
  const { invite_link: change } = exchange.input.body;
  const maxUses = change.max_uses === undefined ? link.max_uses : change.max_uses;
  const refuse = (message: string) =>
    invalidFields([{ field: 'invite_link.max_uses', code: 'invalid', message: `max_uses: ${message}.` }]);
  if (isPersonal(link) && change.max_uses != null) throw refuse('only allowed for a reusable link');
  if (maxUses !== null && maxUses < link.uses_count) {
    throw refuse(`the link was used ${link.uses_count} times already`);
  }
  const allocationCents =
    change.allocation_cents === undefined ? link.allocation_cents : change.allocation_cents;
  return single(exchange, changeInvite(exchange.services.state, link, { allocationCents, maxUses }));
}

function resend(exchange: Exchange): Reply {
  const { state } = exchange.services;
  const link = own(exchange);
  const why = !isPersonal(link)
    ? 'A reusable link has no recipient.'
    : link.revoked_at !== null
      ? 'The link was canceled.'
      : link.refusal !== null
        ? 'The recipient declined further messages.'
        : null;
  if (why !== null) throw new Problem(422, 'unprocessable_entity', why);
  recordEvent(state, link.no, 'resend', exchange.now);
  return withEvents(exchange, inviteByNo(state, link.no));
}

function present(exchange: Exchange, link: InviteLink): operations.InviteLinkResource {
  return {
    id: link.id,
    type: 'invite_link',
    attributes: {
      url: `${baseUrl(exchange)}/invited/${link.token}`,
      allocation_cents: link.allocation_cents,
      max_uses: link.max_uses,
      uses_count: link.uses_count,
      active: isActive(link),
      created_at: iso(link.created_at),
      ...(isPersonal(link) ? personal(link) : {}),
    },
  };
}

/** A person invited by account is identified by account only. The email of the account is not returned. */
const personal = (link: InviteLink) => ({
  email: link.email,
  service_user_id: link.email === null ? link.recipient_id : null,
  status: statusOf(link),
  opened_at: isoOrNull(link.opened_at),
  invested_at: isoOrNull(link.invested_at),
  investment_id: link.investment_id,
});

function statusOf(link: InviteLink): 'pending' | 'opened' | 'invested' | 'revoked' {
  if (link.revoked_at !== null) return 'revoked';
  if (link.invested_at !== null) return 'invested';
  return link.opened_at === null ? 'pending' : 'opened';
}

const single = (exchange: Exchange, link: InviteLink, reply: (body: unknown) => Reply = ok): Reply =>
  reply({ data: present(exchange, link), meta: { request_id: exchange.requestId } });

function withEvents(exchange: Exchange, link: InviteLink): Reply {
  const resource = present(exchange, link);
  const events = eventsOf(exchange.services.state, link.no).map(({ event, at }) => ({
    event,
    // This server does no IP geolocation.
    city: null,
    country_code: null,
    created_at: iso(at),
  }));
  return ok({
    data: { ...resource, attributes: { ...resource.attributes, events } },
    meta: { request_id: exchange.requestId },
  });
}
