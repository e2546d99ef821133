import type { SessionResource } from '../contract/sessions.js';
import { baseUrl } from '../http/base-url.js';
import type { Exchange } from '../http/exchange.js';
import { iso } from '../http/timestamps.js';
import { type Session, timelineOf } from './model.js';
import { spvIdOf } from './offering-access.js';

export function presentSession(exchange: Exchange, session: Session): SessionResource {
  return {
    id: session.id,
    type: 'investment_session',
    attributes: {
      status: session.status,
      url: `${baseUrl(exchange)}/checkout/${session.token}`,
      offering: session.offering_id,
      spv_id: spvIdOf(session.offering_id),
      email: session.email,
      allocation_cents: session.allocation_cents,
      kyc_status: session.kyc_status,
      funding_status: session.funding_status,
      investment_id: session.investment_id?.replace(/^inv_/, 'invt_') ?? null,
      metadata: session.metadata === null ? null : (JSON.parse(session.metadata) as Record<string, unknown>),
      created_at: iso(session.created_at),
      expires_at: iso(session.expires_at),
    },
  };
}

export function presentWithEvents(exchange: Exchange, session: Session): unknown {
  const resource = presentSession(exchange, session);
  const events = timelineOf(exchange.services.state, session.no).map((event) => ({
    ...event,
    occurred_at: iso(event.occurred_at),
  }));
  return {
    data: { ...resource, attributes: { ...resource.attributes, events } },
    meta: { request_id: exchange.requestId },
  };
}
