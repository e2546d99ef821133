import type { ReferralCodeResource } from '../contract/referrals.js';
import { baseUrl } from '../http/base-url.js';
import type { Exchange } from '../http/exchange.js';
import { iso } from '../http/timestamps.js';
import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import { newId, type Realm } from '../state/secrets.js';
import { all, one, run } from '../state/statements.js';

export interface ReferralCode {
  readonly no: number;
  readonly id: string;
  readonly application_no: number;
  readonly realm: Realm;
  readonly offering_no: number | null;
  readonly offering_id: string | null;
  readonly label: string | null;
  readonly clicks: number;
  readonly investments: number;
  readonly created_at: number;
  readonly disabled_at: number | null;
}

const select = `SELECT r.*, o.id AS offering_id,
  (SELECT count(*) FROM session_sources x JOIN investment_sessions s ON s.no = x.session_no
   WHERE x.referral_no = r.no AND s.status = 'completed') AS investments
  FROM referral_codes r LEFT JOIN offerings o ON o.no = r.offering_no`;

export function insertReferralCode(
  services: Services,
  wish: Pick<ReferralCode, 'application_no' | 'realm' | 'offering_no' | 'label'>,
  now: number,
): ReferralCode {
  const { no } = run(
    services.state,
    `INSERT INTO referral_codes (id, application_no, realm, offering_no, label, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
    [newId(services.random, 'ref_'), wish.application_no, wish.realm, wish.offering_no, wish.label, now],
  );
  return referralByNo(services.state, no);
}

export function referralByNo(state: State, no: number): ReferralCode {
  const row = one<ReferralCode>(state, `${select} WHERE r.no = ?`, [no]);
  if (row === undefined) throw new Error(`no referral code ${no}`);
  return row;
}

export const referralById = (state: State, id: string): ReferralCode | undefined =>
  one<ReferralCode>(state, `${select} WHERE r.id = ?`, [id]);

export const ownReferral = (
  state: State,
  applicationNo: number,
  realm: Realm,
  id: string,
): ReferralCode | undefined =>
  one<ReferralCode>(state, `${select} WHERE r.id = ? AND r.application_no = ? AND r.realm = ?`, [
    id,
    applicationNo,
    realm,
  ]);

export const listReferrals = (
  state: State,
  applicationNo: number,
  realm: Realm,
  before: number,
  limit: number,
): readonly ReferralCode[] =>
  all<ReferralCode>(
    state,
    `${select} WHERE r.application_no = ? AND r.realm = ? AND r.no < ? ORDER BY r.no DESC LIMIT ?`,
    [applicationNo, realm, before, limit],
  );

export function disableReferral(state: State, code: ReferralCode, now: number): ReferralCode {
  run(state, 'UPDATE referral_codes SET disabled_at = coalesce(disabled_at, ?) WHERE no = ?', [now, code.no]);
  return referralByNo(state, code.no);
}

export const countClick = (state: State, code: ReferralCode): void => {
  run(state, 'UPDATE referral_codes SET clicks = clicks + 1 WHERE no = ?', [code.no]);
};

export const termsAccepted = (state: State, organizationNo: number): boolean =>
  one(state, 'SELECT 1 FROM attribution_terms WHERE organization_no = ?', [organizationNo]) !== undefined;

export function acceptTerms(state: State, organizationNo: number, accepted: boolean, now: number): void {
  if (accepted) {
    run(state, 'INSERT OR IGNORE INTO attribution_terms (organization_no, accepted_at) VALUES (?, ?)', [
      organizationNo,
      now,
    ]);
  } else run(state, 'DELETE FROM attribution_terms WHERE organization_no = ?', [organizationNo]);
}

export function presentReferral(exchange: Exchange, code: ReferralCode): ReferralCodeResource {
  return {
    id: code.id,
    type: 'referral_code',
    attributes: {
      label: code.label,
      offering: code.offering_id,
      url:
        code.offering_id === null ? null : `${baseUrl(exchange)}/invest/${code.offering_id}?wfr=${code.id}`,
      status: code.disabled_at === null ? 'active' : 'disabled',
      click_count: code.clicks,
      investment_count: code.investments,
      created_at: iso(code.created_at),
      disabled_at: code.disabled_at === null ? null : iso(code.disabled_at),
    },
  };
}
