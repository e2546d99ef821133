import { type Member, memberByNo, memberOfInvite } from '../members/model.js';
import type { State } from '../state/database.js';
import { type Syndicate, syndicateByNo } from '../syndicates/model.js';
import { isOpen, type JoinSession, joinSessionOfToken } from './model.js';

/** What a link leads to: the open invitation of a member, or a session some application minted. */
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

/** The one address the link is good for; null when the account behind it is gone. */
export const addressOf = (link: Link): string | null =>
  link.kind === 'session' ? link.session.email : link.member.email;

export const nameOf = (link: Link): string | null =>
  link.kind === 'session' ? link.session.name : link.member.name;

/** Whether there is still something to answer. */
export const awaitsAnswer = (link: Link): boolean => link.kind === 'invitation' || isOpen(link.session);

/** Ended with the installation that minted it, whatever its status says. */
export const isDead = (link: Link): boolean =>
  link.kind === 'session' && isOpen(link.session) && link.session.installation_ended !== null;

/** Whom a finished session led to, as they stand today. */
export const memberOfLink = (state: State, link: Link): Member | null => {
  if (link.kind === 'invitation') return link.member;
  return link.session.member_no === null ? null : memberByNo(state, link.session.member_no);
};
