import type { Random } from '../../runtime/random.js';
import type { EventName } from '../../wire/events.js';
import type { State } from '../state/database.js';
import { all, one, run } from '../state/statements.js';
import { nextTry, streakAfter } from './delivery-plan.js';
import { isSuccess, type Outcome } from './send.js';

export interface Delivery {
  readonly no: number;
  readonly id: string;
  readonly endpoint_no: number;
  readonly event_id: string;
  readonly event: EventName;
  readonly body: string;
  readonly state: 'pending' | 'delivered' | 'dead' | 'canceled';
  readonly created_at: number;
  readonly window_from: number;
  readonly failures: number;
  readonly next_at: number | null;
}

const columns =
  'no, id, endpoint_no, event_id, event, body, state, created_at, window_from, failures, next_at';

export interface NewDelivery {
  readonly id: string;
  readonly endpointNo: number;
  readonly installationNo: number;
  readonly eventId: string;
  readonly event: EventName;
  readonly body: string;
  readonly now: number;
}

export function insertDelivery(state: State, delivery: NewDelivery): void {
  run(
    state,
    `INSERT INTO webhook_deliveries
       (id, endpoint_no, installation_no, event_id, event, body, created_at, window_from, next_at)
     VALUES (:id, :endpointNo, :installationNo, :eventId, :event, :body, :now, :now, :now)`,
    { ...delivery },
  );
}

export function deliveryById(state: State, id: string): Delivery | undefined {
  return one<Delivery>(state, `SELECT ${columns} FROM webhook_deliveries WHERE id = ?`, [id]);
}

/** Returns the due deliveries of an endpoint, earliest first. */
export function dueDeliveries(state: State, endpointNo: number, now: number, limit: number): Delivery[] {
  return all<Delivery>(
    state,
    `SELECT ${columns} FROM webhook_deliveries
     WHERE endpoint_no = ? AND state = 'pending' AND next_at <= ? ORDER BY next_at, no LIMIT ?`,
    [endpointNo, now, limit],
  );
}

/** Returns the endpoints with due deliveries. Costs one index lookup per endpoint, regardless of the queue lengths. */
export function endpointsWithWork(state: State, now: number): readonly number[] {
  return all<{ no: number }>(
    state,
    `SELECT e.no FROM webhook_endpoints e WHERE e.removed_at IS NULL AND EXISTS
       (SELECT 1 FROM webhook_deliveries d
        WHERE d.endpoint_no = e.no AND d.state = 'pending' AND d.next_at <= ?)`,
    [now],
  ).map((row) => row.no);
}

export function nextDueAfter(state: State, now: number): number | null {
  const row = one<{ at: number | null }>(
    state,
    `SELECT min(next_at) AS at FROM webhook_deliveries WHERE state = 'pending' AND next_at > ?`,
    [now],
  );
  return row?.at ?? null;
}

export function postpone(state: State, deliveryNo: number, until: number, held: boolean): void {
  run(state, `UPDATE webhook_deliveries SET next_at = ?, held = ? WHERE no = ? AND state = 'pending'`, [
    until,
    held ? 1 : 0,
    deliveryNo,
  ]);
}

interface HealthRow {
  readonly failing_since: number | null;
  readonly enabled: 0 | 1;
}

/** Finished deliveries are kept this long for the portal. */
const historyMs = 30 * 24 * 60 * 60 * 1000;

/** Records an attempt and updates the delivery and the health of the endpoint. */
export function settle(
  state: State,
  random: Random,
  delivery: Pick<Delivery, 'no' | 'id' | 'endpoint_no'>,
  outcome: Outcome,
  now: number,
): void {
  state.transaction(() => {
    // After a reset of the sandbox the delivery no longer exists, and its row number may be reused.
    if (deliveryById(state, delivery.id) === undefined) return;
    run(
      state,
      `INSERT INTO webhook_attempts (delivery_no, at, status, error, duration_ms, response)
       VALUES (?, ?, ?, ?, ?, ?)`,
      [delivery.no, now, outcome.status, outcome.error, outcome.durationMs, outcome.response],
    );
    const succeeded = isSuccess(outcome);
    if (succeeded) markDelivered(state, delivery.no, now);
    else markFailed(state, random, delivery.no, now);
    bookHealth(state, delivery.endpoint_no, succeeded, outcome.error ?? String(outcome.status), now);
    run(state, 'UPDATE webhook_deliveries SET next_at = ?, held = 0 WHERE endpoint_no = ? AND held = 1', [
      now,
      delivery.endpoint_no,
    ]);
    run(
      state,
      `DELETE FROM webhook_deliveries WHERE no IN
         (SELECT no FROM webhook_deliveries WHERE settled_at < ? ORDER BY settled_at LIMIT 10)`,
      [now - historyMs],
    );
  })();
}

/** Marks a delivery delivered, even if it was dead-lettered during the attempt. Canceled deliveries stay canceled. */
function markDelivered(state: State, deliveryNo: number, now: number): void {
  run(
    state,
    `UPDATE webhook_deliveries SET state = 'delivered', next_at = NULL, held = 0, settled_at = ?
     WHERE no = ? AND state IN ('pending', 'dead')`,
    [now, deliveryNo],
  );
}

function markFailed(state: State, random: Random, deliveryNo: number, now: number): void {
  const row = one<Delivery>(
    state,
    `UPDATE webhook_deliveries SET failures = failures + 1 WHERE no = ? AND state = 'pending'
     RETURNING ${columns}`,
    [deliveryNo],
  );
  if (row === undefined) return;
  const at = nextTry({ windowFrom: row.window_from, failures: row.failures }, now, random);
  if (at !== null) postpone(state, deliveryNo, at, false);
  else deadLetter(state, 'no', deliveryNo, now);
}

function bookHealth(state: State, endpointNo: number, succeeded: boolean, status: string, now: number): void {
  const health = one<HealthRow>(state, 'SELECT failing_since, enabled FROM webhook_endpoints WHERE no = ?', [
    endpointNo,
  ]);
  if (health === undefined) return;
  // An attempt that was in flight when its endpoint was disabled does not start a new streak.
  const streak = health.enabled === 1 ? streakAfter(health.failing_since, succeeded, now) : null;
  run(
    state,
    `UPDATE webhook_endpoints SET last_delivery_at = ?, last_delivery_status = ?, failing_since = ?, enabled = ?
     WHERE no = ?`,
    [
      now,
      status,
      streak === null ? health.failing_since : streak.failingSince,
      health.enabled === 1 && streak?.disable !== true ? 1 : 0,
      endpointNo,
    ],
  );
  // A disabled endpoint receives nothing and nothing is replayed later, so its pending deliveries are dead-lettered.
  if (streak?.disable === true) deadLetter(state, 'endpoint_no', endpointNo, now);
}

function deadLetter(state: State, by: 'no' | 'endpoint_no', no: number, now: number): void {
  run(
    state,
    by === 'no'
      ? `UPDATE webhook_deliveries SET state = 'dead', next_at = NULL, held = 0, settled_at = ?
         WHERE no = ? AND state = 'pending'`
      : `UPDATE webhook_deliveries SET state = 'dead', next_at = NULL, held = 0, settled_at = ?
         WHERE endpoint_no = ? AND state = 'pending'`,
    [now, no],
  );
}

/** Restarts a delivery with a new 72-hour window and schedule. Canceled deliveries cannot be restarted. */
export function restart(state: State, deliveryNo: number, now: number): void {
  run(
    state,
    `UPDATE webhook_deliveries
     SET state = 'pending', window_from = :now, failures = 0, next_at = :now, held = 0, settled_at = NULL
     WHERE no = :no AND state <> 'canceled'`,
    { no: deliveryNo, now },
  );
}

export function cancelForInstallation(state: State, installationNo: number, now: number): void {
  run(
    state,
    `UPDATE webhook_deliveries SET state = 'canceled', next_at = NULL, held = 0, settled_at = ?
     WHERE installation_no = ? AND state = 'pending'`,
    [now, installationNo],
  );
}
