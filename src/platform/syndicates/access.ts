import type { Caller } from '../http/caller.js';
import { callerOf, type Exchange } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import type { State } from '../state/database.js';
import { one } from '../state/statements.js';
import { findSyndicate, permissionOf, type Syndicate } from './model.js';

/** In rising order of what they may do. An installation, and a key of the syndicate, act with full access. */
export const ranks = { member: 0, operator: 1, full_access: 2, creator: 3 } as const;
export type Rank = (typeof ranks)[keyof typeof ranks];

/** What a caller is to a syndicate. */
export interface Access {
  readonly syndicate: Syndicate;
  readonly rank: Rank;
  /** Whoever runs the syndicate, in any permission: sees what ordinary members do not. */
  readonly moderator: boolean;
  /** The person who acts; null when an installation or a key does. */
  readonly userNo: number | null;
  /** Whose pages these are: a cursor is good for its own reader. */
  readonly reader: string;
}

/**
 * Finds the syndicate of the path and what the caller is to it. A published syndicate is known to the world, so a
 * stranger is told 403; of a draft a stranger is not even told that it exists.
 */
export function accessTo(exchange: Exchange): Access {
  const { state } = exchange.services;
  const caller = callerOf(exchange);
  const id = exchange.params.syndicate_id ?? '';
  const syndicate = findSyndicate(state, id, caller.realm);
  if (syndicate === undefined) throw notFound(`The syndicate ${id}`);
  const bound = boundSyndicate(caller);
  if (bound !== undefined) {
    if (bound === syndicate.no) return access(syndicate, ranks.full_access, null, `syndicate:${bound}`);
    throw new Problem(403, 'forbidden', `This token is bound to something other than ${id}.`, {
      remediation: 'Use the token of the installation on this syndicate.',
    });
  }
  if (caller.kind !== 'user')
    throw new Problem(403, 'forbidden', 'This operation needs a person or an install.');
  const rank = rankOf(state, syndicate, caller.userNo);
  if (rank !== null) return access(syndicate, rank, caller.userNo, `user:${caller.userNo}`);
  if (syndicate.published === 0) throw notFound(`The syndicate ${id}`);
  throw new Problem(403, 'forbidden', `You do not belong to the syndicate ${id}.`);
}

const access = (syndicate: Syndicate, rank: Rank, userNo: number | null, reader: string): Access => ({
  syndicate,
  rank,
  moderator: rank >= ranks.operator,
  userNo,
  reader: `${syndicate.realm}:${reader}`,
});

/** Undefined for a person; null for a credential that is bound, but not to a syndicate. */
export function boundSyndicate(caller: Caller): number | null | undefined {
  if (caller.kind === 'installation' || caller.kind === 'syndicate_key') return caller.syndicateNo;
  return undefined;
}

export function rankOf(state: State, syndicate: Syndicate, userNo: number): Rank | null {
  if (syndicate.created_by_no === userNo) return ranks.creator;
  const permission = permissionOf(state, syndicate.no, userNo);
  if (permission !== undefined) return ranks[permission];
  const belongs = one(
    state,
    `SELECT 1 FROM syndicate_members WHERE syndicate_no = ? AND user_no = ? AND standing = 'member'`,
    [syndicate.no, userNo],
  );
  return belongs === undefined ? null : ranks.member;
}

const needed: Readonly<Record<'operator' | 'full_access' | 'creator', string>> = {
  operator: 'This needs operator permission in the syndicate.',
  full_access: 'This needs full access to the syndicate.',
  creator: 'Only the creator of the syndicate, in person, may do this.',
};

export function requireRank(given: Access, rank: keyof typeof needed): Access {
  if (given.rank < ranks[rank]) throw new Problem(403, 'forbidden', needed[rank]);
  return given;
}

/** The beginning of nearly every route of a syndicate's team. */
export const operatorAccess = (exchange: Exchange): Access => requireRank(accessTo(exchange), 'operator');
