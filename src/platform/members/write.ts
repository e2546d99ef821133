import type { Services } from '../services.js';
import { newId } from '../state/secrets.js';
import { one, run } from '../state/statements.js';
import type { Permission } from '../syndicates/model.js';
import { type Member, memberByNo, type Standing } from './model.js';

/** Writes rows only. Callers check permissions and emit events. */

export interface NewMember {
  readonly syndicateNo: number;
  readonly userNo: number | null;
  readonly standing: Standing;
}

/** Inserts a member at the end of the syndicate's order. */
export function insertMember(services: Services, wish: NewMember, now: number): Member {
  const last = one<{ place: number | null }>(
    services.state,
    'SELECT max(sort_order) AS place FROM syndicate_members WHERE syndicate_no = ?',
    [wish.syndicateNo],
  );
  const { no } = run(
    services.state,
    `INSERT INTO syndicate_members (id, syndicate_no, user_no, standing, consented, sort_order, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      newId(services.random, 'mem_'),
      wish.syndicateNo,
      wish.userNo,
      wish.standing,
      consents(wish.standing) ? 1 : 0,
      (last?.place ?? 0) + 1,
      now,
      now,
    ],
  );
  return memberByNo(services.state, no);
}

const consents = (standing: Standing): boolean => standing === 'member' || standing === 'applicant';

/** Sets the standing. Any standing other than `member` removes the permission. */
export function setStanding(services: Services, member: Member, standing: Standing, now: number): Member {
  const { state } = services;
  run(
    state,
    'UPDATE syndicate_members SET standing = ?, consented = max(consented, ?), updated_at = ? WHERE no = ?',
    [standing, consents(standing) ? 1 : 0, now, member.no],
  );
  if (standing !== 'member') setPermission(services, member, null);
  if (standing !== 'invitee') {
    run(state, 'UPDATE syndicate_members SET invite_token = NULL, invited_permission = NULL WHERE no = ?', [
      member.no,
    ]);
  }
  return memberByNo(state, member.no);
}

export function setPermission(services: Services, member: Member, permission: Permission | null): void {
  if (member.user_no === null) return;
  const of = [member.syndicate_no, member.user_no];
  if (permission === null) {
    run(services.state, 'DELETE FROM syndicate_managers WHERE syndicate_no = ? AND user_no = ?', of);
  } else {
    run(
      services.state,
      `INSERT INTO syndicate_managers (syndicate_no, user_no, permission) VALUES (?, ?, ?)
       ON CONFLICT (syndicate_no, user_no) DO UPDATE SET permission = excluded.permission`,
      [...of, permission],
    );
  }
}

/** Links the row to an account and deletes the name and email entered in the invitation. */
export function bindUser(services: Services, member: Member, userNo: number): void {
  run(
    services.state,
    'UPDATE syndicate_members SET user_no = ?, invited_email = NULL, invited_name = NULL WHERE no = ?',
    [userNo, member.no],
  );
}

export interface Invitation {
  readonly email: string;
  readonly name: string | null;
  readonly permission: Permission | null;
}

export function openInvitation(
  services: Services,
  member: Member,
  invitation: Invitation,
  now: number,
): Member {
  run(
    services.state,
    `UPDATE syndicate_members SET standing = 'invitee', invited_email = ?, invited_name = ?, invited_permission = ?,
       invite_token = ?, updated_at = ? WHERE no = ?`,
    [invitation.email, invitation.name, invitation.permission, newId(services.random, 'iv_'), now, member.no],
  );
  return memberByNo(services.state, member.no);
}
