import { endGrant } from '../oauth/grants.js';
import type { Services } from '../services.js';
import { all, one, run } from '../state/statements.js';
import type { Source } from './derive.js';
import { announceLifecycle } from './events.js';
import { insertInvestment, loadInvestment } from './model.js';
import { type PublicationReason, publishSoon } from './publisher.js';

/** The columns a change may set. All other fields are derived. */
export type InvestmentColumns = Pick<
  Source,
  | 'offering_no'
  | 'status'
  | 'group_label'
  | 'entity_name'
  | 'committed_cents'
  | 'in_escrow_cents'
  | 'applied_at'
  | 'message'
  | 'external_username'
  | 'blockers'
  | 'contracts'
  | 'converted_to'
  | 'hidden'
  | 'overrides'
>;

/** These functions run in the caller's transaction: an investment, its publication and its events are one commit. */
export function createInvestment(services: Services, invented: Omit<Source, 'no'>, now: number): Source {
  const no = insertInvestment(services.state, invented);
  const source = loadInvestment(services.state, no);
  announceLifecycle(services, null, source, now);
  publishSoon(services, no, 'changed', now);
  return source;
}

export function changeInvestment(
  services: Services,
  before: Source,
  columns: Partial<InvestmentColumns>,
  reason: PublicationReason,
  now: number,
): Source {
  writeColumns(services, before, columns, now);
  const after = loadInvestment(services.state, before.no);
  announceLifecycle(services, before, after, now);
  publishSoon(services, before.no, reason, now);
  if (before.converted_to !== after.converted_to) linkSuccessor(services, after, now);
  return after;
}

/** Deletes the investment: every reader, including the investor, gets a tombstone. */
export function withdrawInvestment(services: Services, source: Source, now: number): void {
  run(services.state, 'UPDATE investments SET deleted_at = ? WHERE no = ?', [now, source.no]);
  publishSoon(services, source.no, 'changed', now);
}

export interface Profile {
  readonly name: string;
  readonly legal_name: string;
  readonly email: string;
  readonly address: string | null;
  readonly bio: string | null;
}

/** Changes a user's profile and republishes all their investments. */
export function changeProfile(services: Services, userNo: number, profile: Profile, now: number): void {
  run(
    services.state,
    'UPDATE users SET name = ?, legal_name = ?, email = ?, address = ?, bio = ? WHERE no = ?',
    [profile.name, profile.legal_name, profile.email, profile.address, profile.bio, userNo],
  );
  for (const no of investmentsOf(services, userNo)) publishSoon(services, no, 'changed', now);
}

/**
 * Closes an account: erases the user's identity, revokes their tokens and republishes their investments without a name.
 * Returns the ids of those investments.
 */
export function deactivateUser(services: Services, userNo: number, now: number): readonly string[] {
  const { state } = services;
  const closed = run(
    state,
    `UPDATE users SET deactivated_at = ?, name = '[deleted user]', legal_name = '[deleted user]',
       username = 'deleted' || no, email = 'deleted' || no || '@users.invalid', address = NULL, bio = NULL
     WHERE no = ? AND deactivated_at IS NULL`,
    [now, userNo],
  );
  if (closed.changes === 0) return [];
  run(state, 'DELETE FROM user_profiles WHERE user_no = ?', [userNo]);
  run(state, 'DELETE FROM follows WHERE user_no = ?', [userNo]);
  const families = all<{ family: string }>(state, 'SELECT family FROM grants WHERE user_no = ?', [userNo]);
  for (const { family } of families) endGrant(services, family, 'user_deactivated', now);
  run(
    state,
    `UPDATE investments SET message = NULL, external_username = NULL,
       entity_name = CASE WHEN entity_name IS NULL THEN NULL ELSE '[deleted user]' END,
       overrides = CASE WHEN overrides IS NULL THEN NULL ELSE json_remove(overrides, '$.investor') END
     WHERE investor_no = ?`,
    [userNo],
  );
  const numbers = investmentsOf(services, userNo);
  for (const no of numbers) publishSoon(services, no, 'investor_deactivated', now);
  return numbers.map((no) => loadInvestment(state, no).id);
}

const investmentsOf = (services: Services, userNo: number): readonly number[] =>
  all<{ no: number }>(
    services.state,
    'SELECT no FROM investments WHERE investor_no = ? AND deleted_at IS NULL ORDER BY no',
    [userNo],
  ).map((row) => row.no);

function writeColumns(
  services: Services,
  before: Source,
  columns: Partial<InvestmentColumns>,
  now: number,
): void {
  const next = { ...before, ...columns };
  const canceledAt = next.status !== 'canceled' ? null : (before.canceled_at ?? now);
  run(
    services.state,
    `UPDATE investments SET offering_no = ?, status = ?, group_label = ?, entity_name = ?, committed_cents = ?,
       in_escrow_cents = ?, applied_at = ?, canceled_at = ?, message = ?, external_username = ?, blockers = ?,
       contracts = ?, converted_to_no = (SELECT no FROM investments WHERE id = ?), hidden = ?, overrides = ?
     WHERE no = ?`,
    [
      next.offering_no,
      next.status,
      next.group_label,
      next.entity_name,
      next.committed_cents,
      next.in_escrow_cents,
      next.applied_at,
      canceledAt,
      next.message,
      next.external_username,
      next.blockers,
      next.contracts,
      next.converted_to,
      next.hidden,
      next.overrides,
      before.no,
    ],
  );
}

/** Sets `converted_from` on the successor of a conversion. */
function linkSuccessor(services: Services, source: Source, now: number): void {
  const successor = one<{ no: number }>(services.state, 'SELECT no FROM investments WHERE id = ?', [
    source.converted_to,
  ]);
  if (successor === undefined) return;
  run(services.state, 'UPDATE investments SET converted_from_no = ? WHERE no = ?', [source.no, successor.no]);
  publishSoon(services, successor.no, 'changed', now);
}
