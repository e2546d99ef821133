import { defined } from '../../domain/defined.js';
import { Problem } from '../http/problem.js';
import type { Services } from '../services.js';
import { type Access, requireRank } from '../syndicates/access.js';
import { recordActivity } from '../syndicates/activity.js';
import { announceInvitation } from './events.js';
import { type Member, memberOfEmail } from './model.js';
import { type Invitation, insertMember, openInvitation } from './write.js';

const reasons = {
  member: 'is a member of the syndicate already',
  invitee: 'is invited already',
  applicant: 'has applied already',
  exiled: 'was exiled from the syndicate',
} as const;

const wayOut: Readonly<Partial<Record<Member['standing'], string>>> = {
  invitee: 'Send the invitation again with POST …/members/{member_id}/resend_invite.',
  applicant: 'Admit the applicant with POST …/members/{member_id}/approve.',
  exiled: 'Take the member back with POST …/members/{member_id}/restore.',
};

/** Throws a 422 if the person already has a membership, an invitation or an application, or was exiled. */
export function refuseStanding(member: Member | undefined): void {
  const standing = member?.standing;
  if (member === undefined || standing === undefined || !(standing in reasons)) return;
  const remediation = wayOut[standing];
  throw new Problem(
    422,
    'unprocessable_entity',
    `This address ${reasons[standing as keyof typeof reasons]}.`,
    { details: { member: member.id }, ...defined({ remediation }) },
  );
}

export function invite(services: Services, access: Access, invitation: Invitation, now: number): Member {
  if (invitation.permission === 'full_access') requireRank(access, 'creator');
  const { syndicate, userNo } = access;
  return services.state.transaction(() => {
    const existing = memberOfEmail(services.state, syndicate.no, invitation.email);
    // An exiled invitee never joined: only the invitation was revoked, so a new one is allowed.
    if (existing?.standing !== 'exiled' || existing.consented === 1) refuseStanding(existing);
    const wish = { syndicateNo: syndicate.no, userNo: null, standing: 'invitee' } as const;
    const row = existing ?? insertMember(services, wish, now);
    const member = openInvitation(services, row, invitation, now);
    const done = { syndicateNo: syndicate.no, action: 'member.invited', memberNo: row.no };
    recordActivity(services, done, userNo, now);
    announceInvitation(services, 'syndicate_member.invited', syndicate, member, userNo, now);
    return member;
  })();
}

/** Resends the invitation with the same link, because the first message may still be unread. */
export function resendInvite(services: Services, access: Access, member: Member, now: number): Member {
  const { syndicate, userNo } = access;
  if (member.standing !== 'invitee') {
    throw new Problem(
      422,
      'unprocessable_entity',
      `${member.id} has no open invitation: the role is ${member.role}.`,
    );
  }
  services.state.transaction(() => {
    recordActivity(
      services,
      { syndicateNo: syndicate.no, action: 'member.reinvited', memberNo: member.no },
      userNo,
      now,
    );
    announceInvitation(services, 'syndicate_member.reinvited', syndicate, member, userNo, now);
  })();
  return member;
}
