import type { Closable } from '../../runtime/lifecycle.js';
import type { EventName } from '../../wire/events.js';
import type { Services } from '../services.js';
import { newId } from '../state/secrets.js';
import { run } from '../state/statements.js';
import { startTurns } from '../turns.js';
import { isActive, overdueSessions, type Session, writeSession } from './model.js';
import { installationOn, offeringByNo } from './offering-access.js';

/*
 * pending → in_progress when the recipient first opens the link; in_progress → abandoned after a day without a visit, and
 * back on the next visit; completed by the checkout; expired after its lifetime; canceled by the application. An abandoned
 * session is still active: its link works and the recipient gets no second session.
 */

const silenceMillis = 24 * 60 * 60 * 1000;

type Happening = Extract<EventName, `investment_session.${string}`>;

/** Records the event in the session's timeline and emits it to the application under the same id. */
export function announceSession(services: Services, name: Happening, session: Session, at: number): void {
  const id = newId(services.random, 'evt_');
  run(
    services.state,
    'INSERT INTO investment_session_events (id, session_no, event, occurred_at) VALUES (?, ?, ?, ?)',
    [id, session.no, name, at],
  );
  if (session.origin !== 'api') return;
  const offering = offeringByNo(services.state, session.offering_no);
  const installation = installationOn(services.state, session.application_no, offering);
  // Only installations of this application receive the event.
  if (installation === undefined) return;
  const data = {
    id: session.id,
    status: session.status,
    offering: session.offering_id,
    email: session.email,
    allocation_cents: session.allocation_cents,
    expires_at: new Date(session.expires_at).toISOString(),
    ...(session.investment_id === null ? {} : { investment: session.investment_id }),
  };
  services.events.emit({
    id,
    name,
    realm: session.realm,
    at,
    companyNo: offering.company_no,
    syndicateNo: offering.syndicate_no,
    installationNo: installation.no,
    dataFor: () => data,
  });
}

/** Records a visit of the recipient. The first one starts the session; later ones prevent its abandonment. */
export function enterSession(services: Services, session: Session, now: number): Session {
  if (!isActive(session)) return session;
  return services.state.transaction(() => {
    const entered = writeSession(services.state, session, { status: 'in_progress' }, now);
    if (session.status === 'pending') announceSession(services, 'investment_session.started', entered, now);
    return entered;
  })();
}

export function cancelSession(services: Services, session: Session, now: number): Session {
  return services.state.transaction(() => {
    const canceled = writeSession(services.state, session, { status: 'canceled' });
    announceSession(services, 'investment_session.canceled', canceled, now);
    return canceled;
  })();
}

/** Expires and abandons due sessions. Called before sessions are read, in case the loop is late. */
export function settleSessions(services: Services, now: number): void {
  const { state } = services;
  const overdue = overdueSessions(state, now, now - silenceMillis);
  if (overdue.length === 0) return;
  state.transaction(() => {
    for (const session of overdue) {
      if (session.expires_at > now) {
        writeSession(state, session, { status: 'abandoned' });
        continue;
      }
      const expired = writeSession(state, session, { status: 'expired' });
      announceSession(services, 'investment_session.expired', expired, session.expires_at);
    }
  })();
}

/** Maximum delay of an expiry event when no request reads the session. */
const pauseMillis = 30_000;

export function startSettling(
  services: Services,
  settle: (services: Services, now: number) => void,
): Closable {
  return startTurns(services, async (closing) => {
    settle(services, services.clock.now());
    await services.clock.wait(pauseMillis, closing);
  });
}
