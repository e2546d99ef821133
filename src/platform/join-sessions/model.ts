import type { JoinSessionState } from '../contract/join-sessions.js';
import type { State } from '../state/database.js';
import { all, one } from '../state/statements.js';

export interface JoinSession {
  readonly no: number;
  readonly id: string;
  readonly token: string;
  readonly syndicate_no: number;
  readonly syndicate: string;
  readonly installation_no: number;
  readonly installation_ended: number | null;
  readonly app_name: string;
  readonly email: string;
  readonly name: string | null;
  readonly success_url: string | null;
  readonly metadata: string | null;
  readonly status: JoinSessionState;
  readonly member_no: number | null;
  readonly member: string | null;
  readonly created_at: number;
  readonly expires_at: number;
}

const select = `SELECT j.*, s.id AS syndicate, i.revoked_at AS installation_ended, a.name AS app_name, m.id AS member
  FROM join_sessions j JOIN syndicates s ON s.no = j.syndicate_no JOIN installations i ON i.no = j.installation_no
  JOIN applications a ON a.no = i.application_no LEFT JOIN syndicate_members m ON m.no = j.member_no`;

const open = `j.status IN ('pending', 'in_progress')`;
const byNo = `${select} WHERE j.no = ?`;
const byToken = `${select} WHERE j.token = ?`;
const openFor = `${select} WHERE j.installation_no = ? AND lower(j.email) = lower(?) AND ${open}`;
const due = `${select} WHERE ${open} AND j.expires_at <= ? ORDER BY j.expires_at, j.no`;
const listed = `${select} WHERE j.installation_no = :installation AND (:status IS NULL OR j.status = :status)
  AND (:email IS NULL OR lower(j.email) = lower(:email)) AND (:after IS NULL OR j.no < :after)
  ORDER BY j.no DESC LIMIT :limit`;

export function joinSessionByNo(state: State, no: number): JoinSession {
  const row = one<JoinSession>(state, byNo, [no]);
  if (row === undefined) throw new Error(`no join session ${no}`);
  return row;
}

export const joinSessionOfToken = (state: State, token: string): JoinSession | undefined =>
  one<JoinSession>(state, byToken, [token]);

export const openSessionFor = (
  state: State,
  installationNo: number,
  email: string,
): JoinSession | undefined => one<JoinSession>(state, openFor, [installationNo, email]);

export const dueSessions = (state: State, now: number): JoinSession[] => all<JoinSession>(state, due, [now]);

/** Returns when the next open session expires, or null when none is open. */
export const nextExpiry = (state: State): number | null =>
  one<{ at: number | null }>(
    state,
    `SELECT min(expires_at) AS at FROM join_sessions WHERE status IN ('pending', 'in_progress')`,
  )?.at ?? null;

export interface SessionFilters {
  readonly status: JoinSessionState | null;
  readonly email: string | null;
}

export const listedSessions = (
  state: State,
  installation: number,
  filters: SessionFilters,
  after: number | null,
  limit: number,
): JoinSession[] => all<JoinSession>(state, listed, { installation, ...filters, after, limit });

export const isOpen = (session: JoinSession): boolean =>
  session.status === 'pending' || session.status === 'in_progress';
