import { Problem } from '../http/problem.js';
import type { Services } from '../services.js';
import { type Access, type Rank, ranks } from '../syndicates/access.js';
import { recordActivity } from '../syndicates/activity.js';
import { announceMember, type MemberEvent } from './events.js';
import { type Member, memberByNo } from './model.js';
import { setPermission, setStanding } from './write.js';

/** Actions of managers on members. Each is one transaction with its activity record and its event. */

const wrongState = (message: string): Problem => new Problem(422, 'unprocessable_entity', message);

const rankOfMember = (member: Member): Rank => {
  if (member.role === 'creator') return ranks.creator;
  return member.standing === 'member' && member.permission !== null ? ranks[member.permission] : ranks.member;
};

export function approve(services: Services, access: Access, member: Member, now: number): Member {
  if (member.standing === 'invitee') {
    throw wrongState(
      `${member.id} is an invitee and cannot be approved: an invitee accepts the link of the invitation.`,
    );
  }
  if (member.standing !== 'applicant') {
    throw wrongState(`${member.id} has no pending application: the role is ${member.role}.`);
  }
  return services.state.transaction(() => admit(services, access, member, access.userNo, now))();
}

/** Admits an applicant. `by` is null when the syndicate's rules admit automatically. */
export function admit(
  services: Services,
  { syndicate }: Pick<Access, 'syndicate'>,
  member: Member,
  by: number | null,
  now: number,
): Member {
  const after = setStanding(services, member, 'member', now);
  recordActivity(
    services,
    { syndicateNo: syndicate.no, action: 'member.approved', memberNo: member.no },
    by,
    now,
  );
  announceMember(
    services,
    { name: 'syndicate_member.approved', status: 'approved' },
    syndicate,
    after,
    by,
    now,
  );
  announceMember(services, { name: 'syndicate_member.joined', status: 'member' }, syndicate, after, by, now);
  return after;
}

/** Exiles a member. Throws a 403 unless the caller has more permission, so members cannot exile themselves. */
export function hide(services: Services, access: Access, member: Member, now: number): Member {
  const { syndicate, userNo } = access;
  if (member.standing === 'exiled') throw wrongState(`${member.id} is exiled already.`);
  if (member.role === 'creator') throw wrongState('The creator of the syndicate cannot be exiled.');
  if (access.rank <= rankOfMember(member)) {
    throw new Problem(403, 'forbidden', `${member.id} has the same permission as you, or more.`);
  }
  return services.state.transaction(() => {
    const after = setStanding(services, member, 'exiled', now);
    recordActivity(
      services,
      { syndicateNo: syndicate.no, action: 'member.exiled', memberNo: member.no },
      userNo,
      now,
    );
    const event = endOf[member.standing];
    if (event !== undefined) announceMember(services, event, syndicate, after, null, now);
    return after;
  })();
}

/** The event an exile emits, by previous standing. A resigned member had already left, so there is none. */
const endOf: Readonly<Partial<Record<Member['standing'], MemberEvent>>> = {
  member: { name: 'syndicate_member.left', status: 'removed' },
  applicant: { name: 'syndicate_member.declined', status: 'declined' },
  invitee: { name: 'syndicate_member.declined', status: 'withdrawn' },
};

export function restore(services: Services, access: Access, member: Member, now: number): Member {
  const { syndicate, userNo } = access;
  if (member.standing !== 'exiled' && member.standing !== 'resigned') {
    throw wrongState(`${member.id} is neither exiled nor resigned: the role is ${member.role}.`);
  }
  if (member.user_no === null || member.consented === 0) {
    throw wrongState(`${member.id} never accepted an invitation: invite the address again.`);
  }
  return services.state.transaction(() => {
    const after = setStanding(services, member, 'member', now);
    recordActivity(
      services,
      { syndicateNo: syndicate.no, action: 'member.restored', memberNo: member.no },
      userNo,
      now,
    );
    const joined = { name: 'syndicate_member.joined', status: 'member' } as const;
    announceMember(services, joined, syndicate, after, userNo, now);
    return after;
  })();
}

/** The caller must be the creator. */
export function promote(services: Services, access: Access, member: Member, now: number): Member {
  if (member.standing !== 'member') {
    throw wrongState(`Only a member can be promoted: the role of ${member.id} is ${member.role}.`);
  }
  if (member.permission === 'full_access') throw wrongState(`${member.id} has full access already.`);
  return repermit(services, access, member, 'full_access', now);
}

/** The caller must have full access. */
export function demote(services: Services, access: Access, member: Member, now: number): Member {
  if (member.role === 'creator') throw wrongState('The creator of the syndicate cannot be demoted.');
  if (member.standing !== 'member' || member.permission !== 'full_access') {
    throw wrongState(
      `${member.id} does not have full access: the permission is ${member.permission ?? 'none'}.`,
    );
  }
  return repermit(services, access, member, 'operator', now);
}

function repermit(
  services: Services,
  { syndicate, userNo }: Access,
  member: Member,
  permission: 'full_access' | 'operator',
  now: number,
): Member {
  return services.state.transaction(() => {
    setPermission(services, member, permission);
    const action = permission === 'full_access' ? 'member.promoted' : 'member.demoted';
    recordActivity(services, { syndicateNo: syndicate.no, action, memberNo: member.no }, userNo, now);
    return memberByNo(services.state, member.no);
  })();
}
