import type { EventName } from '../../wire/events.js';
import type { JoinSessionState } from '../contract/join-sessions.js';
import { iso } from '../http/timestamps.js';
import type { Services } from '../services.js';
import { run } from '../state/statements.js';
import { syndicateByNo } from '../syndicates/model.js';
import { dueSessions, type JoinSession, joinSessionByNo } from './model.js';

const eventOfStatus: Readonly<Record<JoinSessionState, EventName>> = {
  pending: 'join_session.created',
  in_progress: 'join_session.started',
  completed: 'join_session.completed',
  expired: 'join_session.expired',
  canceled: 'join_session.canceled',
};

/** Emits the event to the installation that created the session only, because the payload contains the email. */
export function announceJoinSession(services: Services, session: JoinSession, now: number): void {
  services.events.emit({
    name: eventOfStatus[session.status],
    realm: syndicateByNo(services.state, session.syndicate_no).realm,
    at: now,
    companyNo: null,
    syndicateNo: session.syndicate_no,
    installationNo: session.installation_no,
    dataFor: () => ({
      id: session.id,
      status: session.status,
      syndicate: session.syndicate,
      email: session.email,
      member: session.member,
      expires_at: iso(session.expires_at),
      occurred_at: iso(now),
    }),
  });
}

export function moveSession(
  services: Services,
  session: JoinSession,
  status: Exclude<JoinSessionState, 'pending'>,
  memberNo: number | null,
  now: number,
): JoinSession {
  return services.state.transaction(() => {
    run(
      services.state,
      'UPDATE join_sessions SET status = ?, member_no = coalesce(?, member_no) WHERE no = ?',
      [status, memberNo, session.no],
    );
    const after = joinSessionByNo(services.state, session.no);
    announceJoinSession(services, after, now);
    return after;
  })();
}

/** Expires every session that is due. Called by the loop and before sessions are read. */
export function expireDue(services: Services, now: number): void {
  for (const session of dueSessions(services.state, now))
    moveSession(services, session, 'expired', null, now);
}
