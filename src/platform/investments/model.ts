import type { State } from '../state/database.js';
import { one, run } from '../state/statements.js';
import type { Source } from './derive.js';

const sourceSql = `SELECT i.no, i.id, i.company_no, c.id AS company_id, i.offering_no, o.id AS offering_id,
  i.investor_no, u.id AS investor_id, i.status, i.group_label, i.entity_name, i.committed_cents, i.in_escrow_cents,
  i.applied_at, i.canceled_at, i.message, i.external_username, i.blockers, i.contracts,
  t.id AS converted_to, f.id AS converted_from, i.hidden, i.deleted_at, i.overrides,
  o.currency, o.investment_type, o.offering_type, o.share_price_cents,
  u.name, u.legal_name, u.email, u.address, u.bio, u.deactivated_at
  FROM investments i JOIN companies c ON c.no = i.company_no JOIN offerings o ON o.no = i.offering_no
  JOIN users u ON u.no = i.investor_no
  LEFT JOIN investments t ON t.no = i.converted_to_no LEFT JOIN investments f ON f.no = i.converted_from_no`;

const byNoSql = `${sourceSql} WHERE i.no = ?`;
const byIdSql = `${sourceSql} WHERE i.id = ?`;

export function loadInvestment(state: State, no: number): Source {
  const source = one<Source>(state, byNoSql, [no]);
  if (source === undefined) throw new Error(`investment row ${no} does not exist`);
  return source;
}

export const findInvestment = (state: State, id: string): Source | undefined =>
  one<Source>(state, byIdSql, [id]);

export function insertInvestment(state: State, source: Omit<Source, 'no'>): number {
  return run(
    state,
    `INSERT INTO investments (id, company_no, offering_no, investor_no, status, group_label, entity_name,
       committed_cents, in_escrow_cents, applied_at, canceled_at, message, external_username, blockers, contracts, overrides)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      source.id,
      source.company_no,
      source.offering_no,
      source.investor_no,
      source.status,
      source.group_label,
      source.entity_name,
      source.committed_cents,
      source.in_escrow_cents,
      source.applied_at,
      source.canceled_at,
      source.message,
      source.external_username,
      source.blockers,
      source.contracts,
      source.overrides,
    ],
  ).no;
}
