import type { JoinSessionResource } from '../contract/join-sessions.js';
import { iso } from '../http/timestamps.js';
import type { JoinSession } from './model.js';

export const joinUrl = (base: string, token: string): string => `${base}/join/${token}`;

export function joinSessionResourceOf(session: JoinSession, base: string): JoinSessionResource {
  return {
    id: session.id,
    type: 'join_session',
    attributes: {
      status: session.status,
      mode: 'hosted',
      syndicate: session.syndicate,
      email: session.email,
      name: session.name,
      url: joinUrl(base, session.token),
      success_url: session.success_url,
      member: session.member,
      metadata: session.metadata === null ? null : JSON.parse(session.metadata),
      created_at: iso(session.created_at),
      expires_at: iso(session.expires_at),
    },
  };
}
