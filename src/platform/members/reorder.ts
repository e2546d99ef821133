import { invalidFields, notFound } from '../http/problem.js';
import type { Services } from '../services.js';
import { run } from '../state/statements.js';
import type { Access } from '../syndicates/access.js';
import { recordActivity } from '../syndicates/activity.js';
import { everyMember } from './listing.js';
import { type Member, memberByNo } from './model.js';

/** Sets the order and returns the listed members. Throws without any change if an id is not in this syndicate. */
export function reorder(services: Services, access: Access, ids: readonly string[], now: number): Member[] {
  const { state } = services;
  const { syndicate, userNo } = access;
  if (new Set(ids).size < ids.length) {
    throw invalidFields([
      { field: 'member_ids', code: 'invalid', message: 'member_ids: lists a member twice.' },
    ]);
  }
  return state.transaction(() => {
    const standing = everyMember(state, syndicate.no);
    const byId = new Map(standing.map((member) => [member.id, member]));
    const named = ids.map((id) => {
      const member = byId.get(id);
      if (member === undefined) throw notFound(`The member ${id}`);
      return member;
    });
    const first = new Set(named);
    const rest = standing.filter((member) => !first.has(member));
    for (const [index, member] of [...named, ...rest].entries()) {
      run(state, 'UPDATE syndicate_members SET sort_order = ? WHERE no = ?', [index + 1, member.no]);
    }
    recordActivity(services, { syndicateNo: syndicate.no, action: 'members.reordered' }, userNo, now);
    return named.map((member) => memberByNo(state, member.no));
  })();
}
