import type { InviteWish } from '../contract/invite-links.js';
import type { Services } from '../services.js';
import type { Offering } from '../sessions/offering-access.js';
import type { State } from '../state/database.js';
import { newId, newSecret } from '../state/secrets.js';
import { all, one, run } from '../state/statements.js';

export interface InviteLink {
  readonly no: number;
  readonly id: string;
  readonly token: string;
  readonly application_no: number;
  readonly offering_no: number;
  readonly email: string | null;
  readonly recipient_no: number | null;
  readonly recipient_id: string | null;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly message: string | null;
  readonly allocation_cents: number | null;
  readonly max_uses: number | null;
  readonly uses_count: number;
  readonly created_at: number;
  readonly revoked_at: number | null;
  readonly opened_at: number | null;
  readonly invested_at: number | null;
  readonly investment_id: string | null;
  readonly refusal: 'declined' | 'spam' | null;
  /** Number of active checkouts started from the link. Each may become a use. */
  readonly underway: number;
}

const select = `SELECT l.*, u.id AS recipient_id, i.id AS investment_id,
  (SELECT count(*) FROM session_sources x JOIN investment_sessions s ON s.no = x.session_no
   WHERE x.invite_link_no = l.no AND s.status IN ('pending', 'in_progress', 'abandoned')) AS underway
  FROM invite_links l LEFT JOIN users u ON u.no = l.recipient_no LEFT JOIN investments i ON i.no = l.investment_no`;

export const isPersonal = (link: InviteLink): boolean => link.email !== null || link.recipient_no !== null;

export const isActive = (link: InviteLink): boolean =>
  link.revoked_at === null &&
  link.invested_at === null &&
  (link.max_uses === null || link.uses_count < link.max_uses);

export function inviteByNo(state: State, no: number): InviteLink {
  const row = one<InviteLink>(state, `${select} WHERE l.no = ?`, [no]);
  if (row === undefined) throw new Error(`no invite link ${no}`);
  return row;
}

export const inviteByToken = (state: State, token: string): InviteLink | undefined =>
  one<InviteLink>(state, `${select} WHERE l.token = ?`, [token]);

export const findInvite = (
  state: State,
  applicationNo: number,
  offeringNo: number,
  id: string,
): InviteLink | undefined =>
  one<InviteLink>(state, `${select} WHERE l.id = ? AND l.application_no = ? AND l.offering_no = ?`, [
    id,
    applicationNo,
    offeringNo,
  ]);

export const listInvites = (
  state: State,
  applicationNo: number,
  offeringNo: number,
  before: number,
  limit: number,
): readonly InviteLink[] =>
  all<InviteLink>(
    state,
    `${select} WHERE l.application_no = ? AND l.offering_no = ? AND l.no < ? ORDER BY l.no DESC LIMIT ?`,
    [applicationNo, offeringNo, before, limit],
  );

/** `userNo` is set when the person was invited by account, not when invited by email. */
export function insertInvite(
  services: Services,
  applicationNo: number,
  offering: Offering,
  wish: InviteWish,
  userNo: number | null,
  now: number,
): InviteLink {
  const { state, random } = services;
  const { no } = run(
    state,
    `INSERT INTO invite_links (id, token, application_no, offering_no, email, recipient_no, first_name, last_name,
       message, allocation_cents, max_uses, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      newId(random, 'il_'),
      newSecret(random, 'iv_'),
      applicationNo,
      offering.no,
      wish.email ?? null,
      userNo,
      wish.first_name ?? null,
      wish.last_name ?? null,
      wish.message ?? null,
      wish.allocation_cents ?? null,
      wish.max_uses ?? null,
      now,
    ],
  );
  recordEvent(state, no, 'created', now);
  const personal = wish.email != null || userNo !== null;
  if (personal && wish.send_email !== false) recordEvent(state, no, 'sent', now);
  return inviteByNo(state, no);
}

export function recordEvent(state: State, linkNo: number, event: string, at: number): void {
  run(state, 'INSERT INTO invite_link_events (invite_link_no, event, at) VALUES (?, ?, ?)', [
    linkNo,
    event,
    at,
  ]);
}

export const eventsOf = (state: State, linkNo: number): readonly { event: string; at: number }[] =>
  all(state, 'SELECT event, at FROM invite_link_events WHERE invite_link_no = ? ORDER BY no', [linkNo]);

export function changeInvite(
  state: State,
  link: InviteLink,
  change: { readonly allocationCents: number | null; readonly maxUses: number | null },
): InviteLink {
  run(state, 'UPDATE invite_links SET allocation_cents = ?, max_uses = ? WHERE no = ?', [
    change.allocationCents,
    change.maxUses,
    link.no,
  ]);
  return inviteByNo(state, link.no);
}

export function revokeInvite(state: State, link: InviteLink, now: number): InviteLink {
  if (link.revoked_at !== null) return link;
  return state.transaction(() => {
    run(state, 'UPDATE invite_links SET revoked_at = ? WHERE no = ?', [now, link.no]);
    recordEvent(state, link.no, 'revoked', now);
    return inviteByNo(state, link.no);
  })();
}

export function openInvite(state: State, link: InviteLink, now: number): void {
  if (link.opened_at !== null) return;
  state.transaction(() => {
    run(state, 'UPDATE invite_links SET opened_at = ? WHERE no = ?', [now, link.no]);
    recordEvent(state, link.no, 'opened', now);
  })();
}

export function refuseInvite(
  state: State,
  link: InviteLink,
  refusal: 'declined' | 'spam',
  now: number,
): void {
  state.transaction(() => {
    run(state, 'UPDATE invite_links SET refusal = ? WHERE no = ?', [refusal, link.no]);
    recordEvent(state, link.no, refusal, now);
  })();
}

/** Counts one use. A per-person link also records the investment. */
export function useInvite(state: State, linkNo: number, investmentNo: number, now: number): void {
  run(state, 'UPDATE invite_links SET uses_count = uses_count + 1 WHERE no = ?', [linkNo]);
  run(
    state,
    `UPDATE invite_links SET invested_at = ?, investment_no = ?
     WHERE no = ? AND (email IS NOT NULL OR recipient_no IS NOT NULL)`,
    [now, investmentNo, linkNo],
  );
  recordEvent(state, linkNo, 'invested', now);
}
