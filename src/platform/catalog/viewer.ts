import type { Caller } from '../http/caller.js';
import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';
import { all, one } from '../state/statements.js';

/** The attributes of a viewer that decide whether a company, a round or a post is visible. */
export interface Viewer {
  readonly realm: Realm;
  /** Null for the public view. */
  readonly userNo: number | null;
  readonly accredited: boolean;
  readonly vault: boolean;
  readonly teamOf: ReadonlyMap<number, 'founder' | 'admin' | 'editor'>;
  readonly investedIn: { readonly companies: ReadonlySet<number>; readonly offerings: ReadonlySet<number> };
  readonly invitedTo: ReadonlySet<number>;
  readonly follows: ReadonlySet<number>;
}

const nothing: ReadonlySet<number> = new Set();

const anyone = (realm: Realm): Viewer => ({
  realm,
  userNo: null,
  accredited: false,
  vault: false,
  teamOf: new Map(),
  investedIn: { companies: nothing, offerings: nothing },
  invitedTo: nothing,
  follows: nothing,
});

/** Returns the view of the user for a user token with `read:explore`, and the public view for every other caller. */
export function viewerOf(state: State, caller: Caller): Viewer {
  return caller.kind === 'user' && caller.scopes.has('read:explore')
    ? personView(state, caller.realm, caller.userNo)
    : anyone(caller.realm);
}

export function personView(state: State, realm: Realm, userNo: number): Viewer {
  const person = one<{ accredited: number; vault: number }>(
    state,
    'SELECT accredited, EXISTS (SELECT 1 FROM vault_members WHERE user_no = no) AS vault FROM users WHERE no = ?',
    [userNo],
  );
  const team = all<{ no: number; tier: 'founder' | 'admin' | 'editor' }>(
    state,
    'SELECT company_no AS no, tier FROM company_members WHERE user_no = ?',
    [userNo],
  );
  const investments = all<{ company_no: number; offering_no: number }>(
    state,
    `SELECT DISTINCT company_no, offering_no FROM investments
     WHERE investor_no = ? AND deleted_at IS NULL AND status NOT IN ('canceled', 'converted')`,
    [userNo],
  );
  return {
    realm,
    userNo,
    accredited: person?.accredited === 1,
    vault: person?.vault === 1,
    teamOf: new Map(team.map((member) => [member.no, member.tier])),
    investedIn: {
      companies: new Set(investments.map((row) => row.company_no)),
      offerings: new Set(investments.map((row) => row.offering_no)),
    },
    invitedTo: numbers(state, 'SELECT offering_no AS no FROM offering_invitations WHERE user_no = ?', userNo),
    follows: numbers(state, 'SELECT company_no AS no FROM follows WHERE user_no = ?', userNo),
  };
}

const numbers = (state: State, sql: string, userNo: number): ReadonlySet<number> =>
  new Set(all<{ no: number }>(state, sql, [userNo]).map((row) => row.no));
