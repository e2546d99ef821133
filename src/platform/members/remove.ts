import { Problem } from '../http/problem.js';
import type { Services } from '../services.js';
import { type Actor, recordActivity } from '../syndicates/activity.js';
import { syndicateByNo } from '../syndicates/model.js';
import { announceMember } from './events.js';
import { type Member, memberByNo } from './model.js';
import { setStanding } from './write.js';

/** Returns why the member cannot be removed, as text for the reviewer, or null if removal is possible. */
export function removalRefusal(member: Member): string | null {
  if (member.role === 'creator') return 'The creator of a syndicate cannot be removed from it.';
  if (member.standing !== 'member')
    return `Only members are removed: the role of ${member.id} is ${member.role}.`;
  return null;
}

/**
 * Removes a member and their permissions after approval. The caller must have checked `removalRefusal` and the
 * approver's permission in the same transaction.
 */
export function removeMember(
  services: Services,
  syndicateNo: number,
  memberNo: number,
  approvedBy: Actor,
  now: number,
): Member {
  return services.state.transaction(() => {
    const member = memberByNo(services.state, memberNo);
    const refusal = removalRefusal(member);
    if (member.syndicate_no !== syndicateNo || refusal !== null) {
      throw new Error(
        `member ${memberNo} cannot be removed from syndicate ${syndicateNo}: ${refusal ?? 'not of it'}`,
      );
    }
    const after = setStanding(services, member, 'removed', now);
    recordActivity(services, { syndicateNo, action: 'member.removed', memberNo }, approvedBy, now);
    const left = { name: 'syndicate_member.left', status: 'removed' } as const;
    announceMember(services, left, syndicateByNo(services.state, syndicateNo), after, null, now);
    return after;
  })();
}

/** The 422 of the remove operation: removals need an intent. */
export const useIntents = (memberId: string, syndicateId: string): Problem =>
  new Problem(422, 'use_intents', 'A person must approve this removal: propose it with POST /intents.', {
    details: {
      action: 'syndicates.remove_member',
      resource_id: syndicateId,
      params: { member_id: memberId },
    },
    remediation: 'POST /intents with the action, resource_id and params of details.',
  });
