import type { IntentStatus } from '../contract/intents.js';
import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import { newId, newSecret, type Realm } from '../state/secrets.js';
import { all, one, run } from '../state/statements.js';

export interface Intent {
  readonly no: number;
  readonly id: string;
  readonly token: string;
  readonly holder: string;
  readonly application_no: number;
  readonly realm: Realm;
  readonly user_no: number | null;
  readonly installation_no: number | null;
  readonly action: string;
  readonly resource_type: string;
  readonly resource_id: string;
  readonly params: string;
  readonly idempotency_key: string;
  readonly fingerprint: string;
  readonly requested_by_agent: string | null;
  readonly impact_summary: string;
  readonly status: IntentStatus;
  readonly expires_at: number;
  readonly decided_by_no: number | null;
  readonly approved_at: number | null;
  readonly executed_at: number | null;
  readonly rejection_reason: string | null;
  readonly execution_result: string | null;
  readonly failure_reason: string | null;
  readonly created_at: number;
  readonly updated_at: number;
}

const weekMillis = 7 * 24 * 60 * 60 * 1000;

export type NewIntent = Pick<
  Intent,
  | 'holder'
  | 'application_no'
  | 'realm'
  | 'user_no'
  | 'installation_no'
  | 'action'
  | 'resource_type'
  | 'resource_id'
  | 'params'
  | 'idempotency_key'
  | 'fingerprint'
  | 'requested_by_agent'
  | 'impact_summary'
>;

/** Lifetime of a pending intent: long enough for a holiday, short enough that the proposal is still current. */
export function insertIntent(services: Services, intent: NewIntent, now: number): Intent {
  const { no } = run(
    services.state,
    `INSERT INTO intents (id, token, holder, application_no, realm, user_no, installation_no, action, resource_type,
       resource_id, params, idempotency_key, fingerprint, requested_by_agent, impact_summary, status, expires_at,
       created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?)`,
    [
      newId(services.random, 'int_'),
      newSecret(services.random, 'rv_'),
      intent.holder,
      intent.application_no,
      intent.realm,
      intent.user_no,
      intent.installation_no,
      intent.action,
      intent.resource_type,
      intent.resource_id,
      intent.params,
      intent.idempotency_key,
      intent.fingerprint,
      intent.requested_by_agent,
      intent.impact_summary,
      now + weekMillis,
      now,
      now,
    ],
  );
  return intentByNo(services.state, no);
}

function intentByNo(state: State, no: number): Intent {
  const row = one<Intent>(state, 'SELECT * FROM intents WHERE no = ?', [no]);
  if (row === undefined) throw new Error(`no intent ${no}`);
  return row;
}

export const intentByToken = (state: State, token: string): Intent | undefined =>
  one<Intent>(state, 'SELECT * FROM intents WHERE token = ?', [token]);

export const findIntent = (state: State, holder: string, id: string): Intent | undefined =>
  one<Intent>(state, 'SELECT * FROM intents WHERE holder = ? AND id = ?', [holder, id]);

/** Returns the intent of an idempotency key. An expired, rejected or failed intent releases its key. */
export const intentByKey = (state: State, holder: string, key: string): Intent | undefined =>
  one<Intent>(
    state,
    `SELECT * FROM intents WHERE holder = ? AND idempotency_key = ?
       AND status IN ('pending', 'approved', 'executing', 'executed')`,
    [holder, key],
  );

export interface IntentFilter {
  readonly holder: string;
  readonly status: IntentStatus | null;
  readonly resourceType: string | null;
  readonly resourceId: string | null;
  readonly before: number;
  readonly limit: number;
}

export const listIntents = (state: State, filter: IntentFilter): readonly Intent[] =>
  all<Intent>(
    state,
    `SELECT * FROM intents WHERE holder = :holder AND (:status IS NULL OR status = :status)
       AND (:resourceType IS NULL OR resource_type = :resourceType)
       AND (:resourceId IS NULL OR resource_id = :resourceId) AND no < :before ORDER BY no DESC LIMIT :limit`,
    { ...filter },
  );

type IntentColumns = Pick<
  Intent,
  | 'status'
  | 'decided_by_no'
  | 'approved_at'
  | 'executed_at'
  | 'rejection_reason'
  | 'execution_result'
  | 'failure_reason'
>;

export function writeIntent(
  state: State,
  intent: Intent,
  columns: Partial<IntentColumns>,
  now: number,
): Intent {
  const next = { ...intent, ...columns };
  run(
    state,
    `UPDATE intents SET status = ?, decided_by_no = ?, approved_at = ?, executed_at = ?, rejection_reason = ?,
       execution_result = ?, failure_reason = ?, updated_at = ? WHERE no = ?`,
    [
      next.status,
      next.decided_by_no,
      next.approved_at,
      next.executed_at,
      next.rejection_reason,
      next.execution_result,
      next.failure_reason,
      now,
      intent.no,
    ],
  );
  return intentByNo(state, intent.no);
}

export function expireOverdue(state: State, now: number): void {
  run(
    state,
    `UPDATE intents SET status = 'expired', updated_at = expires_at WHERE status = 'pending' AND expires_at <= ?`,
    [now],
  );
}

/** Expires the pending intents proposed by an installation, or by a user through a connected application. */
export function expireOfInstallation(state: State, installationNo: number, now: number): void {
  run(
    state,
    `UPDATE intents SET status = 'expired', updated_at = :now WHERE status = 'pending' AND (
       installation_no = :installation OR EXISTS (SELECT 1 FROM installations i WHERE i.no = :installation
         AND i.user_no = intents.user_no AND i.application_no = intents.application_no AND i.realm = intents.realm))`,
    { now, installation: installationNo },
  );
}

/** Returns approved intents whose action did not finish before the process ended. */
export const unfinishedIntents = (state: State): readonly Intent[] =>
  all<Intent>(state, `SELECT * FROM intents WHERE status IN ('approved', 'executing') ORDER BY no`);

/** Returns whether an action is available to the user. An action without a rollout is available to everyone. */
export function isRolledOutTo(state: State, action: string, userNo: number): boolean {
  const row = one<{ open: number }>(
    state,
    `SELECT NOT EXISTS (SELECT 1 FROM action_rollouts WHERE action = :action)
       OR EXISTS (SELECT 1 FROM action_rollout_users WHERE action = :action AND user_no = :user) AS open`,
    { action, user: userNo },
  );
  return row?.open === 1;
}
