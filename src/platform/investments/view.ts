import type { Caller } from '../http/caller.js';
import type { State } from '../state/database.js';
import { all, one } from '../state/statements.js';

/** The records a credential may read: those of companies, as founders see them, and one user's own. */
export interface View {
  /** Part of cursor signatures. The same for all tokens of an account and realm, so cursors survive a new token. */
  readonly subject: string;
  readonly realm: 'test' | 'live';
  readonly companies: readonly number[];
  /** The user whose own investments are included, in any status. */
  readonly person: number | null;
  readonly identity: boolean;
  /** Set for an installation, which may not request any other target. */
  readonly boundTo: { readonly company: number | null } | null;
}

export function viewOf(state: State, caller: Caller): View {
  const shared = { realm: caller.realm, identity: caller.scopes.has('read:investors:pii') };
  switch (caller.kind) {
    case 'user':
      return {
        ...shared,
        subject: `${caller.realm}:user:${caller.userNo}`,
        companies: editedCompanies(state, caller.userNo, caller.realm),
        person: caller.userNo,
        boundTo: null,
      };
    case 'installation':
      return {
        ...shared,
        subject:
          caller.companyNo === null
            ? `${caller.realm}:installation:${caller.installationNo}`
            : `${caller.realm}:company:${caller.companyNo}`,
        companies: caller.companyNo === null ? [] : [caller.companyNo],
        person: null,
        boundTo: { company: caller.companyNo },
      };
    default:
      return { ...shared, subject: caller.key, companies: [], person: null, boundTo: { company: null } };
  }
}

const editedCompanies = (state: State, userNo: number, realm: string): readonly number[] =>
  all<{ no: number }>(
    state,
    `SELECT c.no FROM company_members m JOIN companies c ON c.no = m.company_no
     WHERE m.user_no = ? AND m.can_edit = 1 AND c.realm = ? ORDER BY c.no`,
    [userNo, realm],
  ).map((row) => row.no);

export interface CompanyRow {
  readonly no: number;
  readonly id: string;
}

export interface OfferingRow extends CompanyRow {
  readonly company_no: number;
  readonly company_id: string;
  readonly currency: string;
}

export const findCompany = (state: State, id: string, realm: string): CompanyRow | undefined =>
  one(state, 'SELECT no, id FROM companies WHERE id = ? AND realm = ?', [id, realm]);

export const findOffering = (state: State, id: string, realm: string): OfferingRow | undefined =>
  one(
    state,
    `SELECT o.no, o.id, o.company_no, c.id AS company_id, o.currency
     FROM offerings o JOIN companies c ON c.no = o.company_no WHERE o.id = ? AND c.realm = ?`,
    [id, realm],
  );
