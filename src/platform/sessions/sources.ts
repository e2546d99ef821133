import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import { one, run } from '../state/statements.js';
import { announceSession } from './lifecycle.js';
import { insertSession, type Session, sessionByNo } from './model.js';
import type { Offering } from './offering-access.js';

/** The link a checkout started from, with the campaign parameters of its URL. */
export interface Source {
  readonly referralNo: number | null;
  readonly inviteLinkNo: number | null;
  readonly utm: Readonly<Record<'source' | 'medium' | 'campaign' | 'content', string | null>>;
}

const dayMillis = 24 * 60 * 60 * 1000;

/** Starts a checkout from a link. It lasts a day, and opening the link again returns the same checkout. */
export function startFromLink(
  services: Services,
  wish: {
    readonly applicationNo: number;
    readonly offering: Offering;
    readonly userNo: number;
    readonly allocationCents: number | null;
    readonly source: Source;
  },
  now: number,
): Session {
  const { state } = services;
  const { source } = wish;
  return state.transaction(() => {
    const existing = one<{ no: number }>(
      state,
      `SELECT s.no FROM investment_sessions s JOIN session_sources x ON x.session_no = s.no
       WHERE s.offering_no = ? AND s.recipient_no = ? AND s.status IN ('pending', 'in_progress', 'abandoned')
         AND x.referral_no IS ? AND x.invite_link_no IS ? LIMIT 1`,
      [wish.offering.no, wish.userNo, source.referralNo, source.inviteLinkNo],
    );
    if (existing !== undefined) return sessionByNo(state, existing.no);
    const session = insertSession(
      services,
      {
        applicationNo: wish.applicationNo,
        offering: wish.offering,
        origin: 'link',
        recipient: { email: null, userNo: wish.userNo },
        allocationCents: wish.allocationCents,
        successUrl: null,
        metadata: null,
        expiresAt: now + dayMillis,
      },
      now,
    );
    run(
      state,
      `INSERT INTO session_sources (session_no, referral_no, invite_link_no, clicked_at, utm_source, utm_medium,
         utm_campaign, utm_content) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      [
        session.no,
        source.referralNo,
        source.inviteLinkNo,
        now,
        source.utm.source,
        source.utm.medium,
        source.utm.campaign,
        source.utm.content,
      ],
    );
    announceSession(services, 'investment_session.created', session, now);
    return session;
  })();
}

export function utmOf(query: URLSearchParams): Source['utm'] {
  const value = (name: string) => query.get(`utm_${name}`)?.slice(0, 200) ?? null;
  return {
    source: value('source'),
    medium: value('medium'),
    campaign: value('campaign'),
    content: value('content'),
  };
}

export const sourceOfSession = (
  state: State,
  sessionNo: number,
): { readonly referral_no: number | null; readonly invite_link_no: number | null } | undefined =>
  one(state, 'SELECT referral_no, invite_link_no FROM session_sources WHERE session_no = ?', [sessionNo]);
