import type { Caller } from '../http/caller.js';
import { callerOf, type Exchange } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import type { State } from '../state/database.js';
import { one } from '../state/statements.js';
import { findSyndicate, permissionOf, type Syndicate } from './model.js';

/** Ranks in ascending order of permission. Installations and syndicate keys have full access. */
export const ranks = { member: 0, operator: 1, full_access: 2, creator: 3 } as const;
export type Rank = (typeof ranks)[keyof typeof ranks];

/** The caller's access to a syndicate. */
export interface Access {
  readonly syndicate: Syndicate;
  readonly rank: Rank;
  /** Whether the caller has any managing permission, and so sees fields that ordinary members do not. */
  readonly moderator: boolean;
  /** The acting user; null for an installation or a key. */
  readonly userNo: number | null;
  /** Identifies the reader. Cursors are valid only for the same reader. */
  readonly reader: string;
}

/**
 * Returns the syndicate of the path and the caller's rank. Throws for callers outside the syndicate: a 403 for a
 * published syndicate, which is public, and a 404 for a draft, whose existence is not revealed.
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
    throw new Problem(403, 'forbidden', 'This operation needs the token of a user or an installation.');
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

/** Returns undefined for a user, and null for a credential bound to something other than a syndicate. */
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

/** The first check of most routes for managers of a syndicate. */
export const operatorAccess = (exchange: Exchange): Access => requireRank(accessTo(exchange), 'operator');
