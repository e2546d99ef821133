import type { FundingStatus, KycStatus, SessionStatus } from '../contract/sessions.js';
import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import { newId, newSecret, type Realm } from '../state/secrets.js';
import { all, one, run } from '../state/statements.js';
import type { Offering } from './offering-access.js';

export interface Session {
  readonly no: number;
  readonly id: string;
  readonly token: string;
  readonly application_no: number;
  readonly realm: Realm;
  readonly offering_no: number;
  readonly offering_id: string;
  readonly origin: 'api' | 'link';
  readonly email: string | null;
  readonly recipient_no: number | null;
  readonly allocation_cents: number | null;
  readonly chosen_cents: number | null;
  readonly status: SessionStatus;
  readonly kyc_status: KycStatus;
  readonly funding_status: FundingStatus;
  readonly investment_no: number | null;
  /** With the prefix of the feed, `inv_`. */
  readonly investment_id: string | null;
  readonly success_url: string | null;
  readonly metadata: string | null;
  readonly created_at: number;
  readonly expires_at: number;
  readonly touched_at: number;
}

const select = `SELECT s.*, o.id AS offering_id, i.id AS investment_id FROM investment_sessions s
  JOIN offerings o ON o.no = s.offering_no LEFT JOIN investments i ON i.no = s.investment_no`;

const activeWords = `('pending', 'in_progress', 'abandoned')`;
export const isActive = (session: Session): boolean =>
  session.status === 'pending' || session.status === 'in_progress' || session.status === 'abandoned';

export function sessionByNo(state: State, no: number): Session {
  const row = one<Session>(state, `${select} WHERE s.no = ?`, [no]);
  if (row === undefined) throw new Error(`no investment session ${no}`);
  return row;
}

export const sessionByToken = (state: State, token: string): Session | undefined =>
  one<Session>(state, `${select} WHERE s.token = ?`, [token]);

export const findSession = (
  state: State,
  applicationNo: number,
  realm: Realm,
  id: string,
): Session | undefined =>
  one<Session>(
    state,
    `${select} WHERE s.id = ? AND s.application_no = ? AND s.realm = ? AND s.origin = 'api'`,
    [id, applicationNo, realm],
  );

export interface Recipient {
  /** The email given for the recipient; null when given by account. */
  readonly email: string | null;
  /** Null if no account has that email. */
  readonly userNo: number | null;
}

/** Returns the recipient's active session for an offering, whether created by account or by email. */
export function activeSession(state: State, offeringNo: number, recipient: Recipient): Session | undefined {
  return one<Session>(
    state,
    `${select} WHERE s.offering_no = :offering AND s.origin = 'api' AND s.status IN ${activeWords}
       AND (s.recipient_no = :user OR lower(s.email) = lower(:email)
         OR lower(s.email) = (SELECT lower(email) FROM users WHERE no = :user))`,
    { offering: offeringNo, user: recipient.userNo, email: recipient.email },
  );
}

export interface NewSession {
  readonly applicationNo: number;
  readonly offering: Offering;
  readonly origin: Session['origin'];
  readonly recipient: Recipient;
  readonly allocationCents: number | null;
  readonly successUrl: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly expiresAt: number;
}

export function insertSession(services: Services, wish: NewSession, now: number): Session {
  const { no } = run(
    services.state,
    `INSERT INTO investment_sessions (id, token, application_no, realm, offering_no, origin, email, recipient_no,
       allocation_cents, status, success_url, metadata, created_at, expires_at, touched_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?)`,
    [
      newId(services.random, 'is_'),
      newSecret(services.random, 'cs_'),
      wish.applicationNo,
      wish.offering.realm,
      wish.offering.no,
      wish.origin,
      wish.recipient.email,
      wish.recipient.userNo,
      wish.allocationCents,
      wish.successUrl,
      wish.metadata === null ? null : JSON.stringify(wish.metadata),
      now,
      wish.expiresAt,
      now,
    ],
  );
  return sessionByNo(services.state, no);
}

export type SessionColumns = Pick<
  Session,
  'status' | 'kyc_status' | 'funding_status' | 'recipient_no' | 'chosen_cents' | 'investment_no'
>;

export function writeSession(
  state: State,
  session: Session,
  columns: Partial<SessionColumns>,
  touchedAt = session.touched_at,
): Session {
  const next = { ...session, ...columns };
  run(
    state,
    `UPDATE investment_sessions SET status = ?, kyc_status = ?, funding_status = ?, recipient_no = ?, chosen_cents = ?,
       investment_no = ?, touched_at = ? WHERE no = ?`,
    [
      next.status,
      next.kyc_status,
      next.funding_status,
      next.recipient_no,
      next.chosen_cents,
      next.investment_no,
      touchedAt,
      session.no,
    ],
  );
  return sessionByNo(state, session.no);
}

export interface ListFilter {
  readonly applicationNo: number;
  readonly realm: Realm;
  readonly offerings: readonly number[];
  readonly status: SessionStatus | null;
  readonly before: number;
  readonly limit: number;
}

export function listSessions(state: State, filter: ListFilter): readonly Session[] {
  return all<Session>(
    state,
    `${select} WHERE s.application_no = :application AND s.realm = :realm AND s.origin = 'api'
       AND s.offering_no IN (SELECT value FROM json_each(:offerings)) AND (:status IS NULL OR s.status = :status)
       AND s.no < :before ORDER BY s.no DESC LIMIT :limit`,
    {
      application: filter.applicationNo,
      realm: filter.realm,
      offerings: JSON.stringify(filter.offerings),
      status: filter.status,
      before: filter.before,
      limit: filter.limit,
    },
  );
}

export interface TimelineEvent {
  readonly id: string;
  readonly event: string;
  readonly occurred_at: number;
}

export const timelineOf = (state: State, sessionNo: number): readonly TimelineEvent[] =>
  all<TimelineEvent>(
    state,
    'SELECT id, event, occurred_at FROM investment_session_events WHERE session_no = ? ORDER BY no',
    [sessionNo],
  );

/** Returns expired sessions and those without a visit since `silentSince`. */
export const overdueSessions = (state: State, now: number, silentSince: number): readonly Session[] =>
  all<Session>(
    state,
    `${select} WHERE s.status IN ${activeWords}
       AND (s.expires_at <= ? OR (s.status = 'in_progress' AND s.touched_at <= ?)) ORDER BY s.expires_at, s.no`,
    [now, silentSince],
  );
