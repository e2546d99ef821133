import { type Member, memberByNo, memberOfInvite } from '../members/model.js';
import type { State } from '../state/database.js';
import { type Syndicate, syndicateByNo } from '../syndicates/model.js';
import { isOpen, type JoinSession, joinSessionOfToken } from './model.js';

/** The target of a link: the open invitation of a member, or a join session. */
export type Link =
  | { readonly kind: 'session'; readonly syndicate: Syndicate; readonly session: JoinSession }
  | { readonly kind: 'invitation'; readonly syndicate: Syndicate; readonly member: Member };

export function linkOf(state: State, token: string): Link | undefined {
  const session = joinSessionOfToken(state, token);
  if (session !== undefined) {
    return { kind: 'session', syndicate: syndicateByNo(state, session.syndicate_no), session };
  }
  const member = memberOfInvite(state, token);
  if (member === undefined) return undefined;
  return { kind: 'invitation', syndicate: syndicateByNo(state, member.syndicate_no), member };
}

/** Returns the only email the link works for, or null when its account was closed. */
export const addressOf = (link: Link): string | null =>
  link.kind === 'session' ? link.session.email : link.member.email;

export const nameOf = (link: Link): string | null =>
  link.kind === 'session' ? link.session.name : link.member.name;

/** Returns whether the person can still accept or decline. */
export const awaitsAnswer = (link: Link): boolean => link.kind === 'invitation' || isOpen(link.session);

/** Returns whether the session is open but its installation was revoked. */
export const isDead = (link: Link): boolean =>
  link.kind === 'session' && isOpen(link.session) && link.session.installation_ended !== null;

/** Returns the current member that the session or invitation led to, or null. */
export const memberOfLink = (state: State, link: Link): Member | null => {
  if (link.kind === 'invitation') return link.member;
  return link.session.member_no === null ? null : memberByNo(state, link.session.member_no);
};
