import type { Services } from '../services.js';
import { one, run } from '../state/statements.js';
import { recordActivity } from '../syndicates/activity.js';
import type { Syndicate } from '../syndicates/model.js';
import { announceMember, type MemberEvent } from './events.js';
import { type Member, memberByNo, memberOfEmail, memberOfUser } from './model.js';
import { admit } from './moderate.js';
import { bindUser, insertMember, setPermission, setStanding } from './write.js';

/** Actions of people on the hosted pages. All of these functions run in the caller's transaction. */

export interface Joiner {
  readonly no: number;
  readonly email: string;
}

/** Returns null for an exiled person, who cannot rejoin through a link. */
export function join(services: Services, syndicate: Syndicate, person: Joiner, now: number): Member | null {
  const { state } = services;
  const existing =
    memberOfUser(state, syndicate.no, person.no) ?? memberOfEmail(state, syndicate.no, person.email);
  switch (existing?.standing) {
    case 'exiled':
      return null;
    case 'member':
      return existing;
    case 'invitee':
      return acceptInvitation(services, syndicate, existing, person, now);
    case 'applicant':
      return needsNobody(services, syndicate, person)
        ? admit(services, { syndicate }, existing, null, now)
        : existing;
    default:
      return apply(services, syndicate, existing, person, now);
  }
}

/** Joins without approval, because the invitation was the approval. Returns null if the person was exiled since. */
export function acceptInvitation(
  services: Services,
  syndicate: Syndicate,
  invited: Member,
  person: Joiner,
  now: number,
): Member | null {
  const own = memberOfUser(services.state, syndicate.no, person.no);
  if (own?.standing === 'exiled') return null;
  const row = own === undefined || own.no === invited.no ? invited : own;
  if (row.no !== invited.no) retire(services, invited, now);
  bindUser(services, row, person.no);
  const after = setStanding(services, row, 'member', now);
  if (invited.invited_permission !== null) setPermission(services, after, invited.invited_permission);
  const member = memberByNo(services.state, row.no);
  record(services, syndicate, member, 'member.joined', person.no, now);
  const joined = { name: 'syndicate_member.joined', status: 'member' } as const;
  announceMember(services, joined, syndicate, member, null, now);
  return member;
}

/** Withdraws the invited row when the person already has a row under another email: one person is one member. */
function retire(services: Services, invited: Member, now: number): void {
  setStanding(services, invited, 'withdrawn', now);
  run(services.state, 'UPDATE syndicate_members SET invited_email = NULL, invited_name = NULL WHERE no = ?', [
    invited.no,
  ]);
}

function apply(
  services: Services,
  syndicate: Syndicate,
  before: Member | undefined,
  person: Joiner,
  now: number,
): Member {
  const wish = { syndicateNo: syndicate.no, userNo: person.no, standing: 'applicant' } as const;
  const row = before ?? insertMember(services, wish, now);
  bindUser(services, row, person.no);
  const applicant = setStanding(services, row, 'applicant', now);
  record(services, syndicate, applicant, 'member.applied', person.no, now);
  announceMember(
    services,
    { name: 'syndicate_member.applied', status: 'pending' },
    syndicate,
    applicant,
    null,
    now,
  );
  return needsNobody(services, syndicate, person)
    ? admit(services, { syndicate }, applicant, null, now)
    : applicant;
}

function needsNobody(services: Services, syndicate: Syndicate, person: Joiner): boolean {
  if (syndicate.auto_approve_join_sessions === 1) return true;
  const user = one<{ accredited: number }>(services.state, 'SELECT accredited FROM users WHERE no = ?', [
    person.no,
  ]);
  return syndicate.auto_accept_accredited_members === 1 && user?.accredited === 1;
}

/** Each way to leave, with the standing it starts from. */
const ways = {
  leave: { from: 'member', to: 'resigned', event: { name: 'syndicate_member.left', status: 'left' } },
  payment_failed: {
    from: 'member',
    to: 'resigned',
    event: { name: 'syndicate_member.left', status: 'payment_failed' },
  },
  withdraw: {
    from: 'applicant',
    to: 'withdrawn',
    event: { name: 'syndicate_member.declined', status: 'withdrawn' },
  },
  decline: {
    from: 'invitee',
    to: 'declined',
    event: { name: 'syndicate_member.declined', status: 'declined' },
  },
} as const satisfies Record<string, { from: Member['standing']; to: Member['standing']; event: MemberEvent }>;

export type WayOut = keyof typeof ways;

/** Returns null when the member does not have the required standing, or is the creator, who cannot leave. */
export function endMembership(
  services: Services,
  syndicate: Syndicate,
  member: Member,
  wayOut: WayOut,
  now: number,
): Member | null {
  const way = ways[wayOut];
  if (member.standing !== way.from || member.role === 'creator') return null;
  const after = setStanding(services, member, way.to, now);
  record(services, syndicate, after, `member.${wayOut}`, member.user_no, now);
  announceMember(services, way.event, syndicate, after, null, now);
  return after;
}

function record(
  services: Services,
  syndicate: Syndicate,
  member: Member,
  action: string,
  actor: number | null,
  now: number,
): void {
  recordActivity(services, { syndicateNo: syndicate.no, action, memberNo: member.no }, actor, now);
}
