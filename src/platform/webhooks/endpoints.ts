import type { Random } from '../../runtime/random.js';
import type { EventName } from '../../wire/events.js';
import type { State } from '../state/database.js';
import { newId, type Realm } from '../state/secrets.js';
import { all, one, run } from '../state/statements.js';
import { addSecret, newEndpointSecret } from './endpoint-secrets.js';

export interface Endpoint {
  readonly no: number;
  readonly id: string;
  readonly application_no: number;
  readonly installation_no: number | null;
  /** The id of the bound installation; null for an app-wide endpoint. */
  readonly installation: string | null;
  readonly mode: Realm;
  readonly url: string;
  readonly enabled: 0 | 1;
  readonly failing_since: number | null;
  readonly last_delivery_at: number | null;
  readonly last_delivery_status: string | null;
  readonly created_at: number;
}

const columns = `e.no, e.id, e.application_no, e.installation_no, i.id AS installation, e.mode, e.url, e.enabled,
  e.failing_since, e.last_delivery_at, e.last_delivery_status, e.created_at`;
const from = 'FROM webhook_endpoints e LEFT JOIN installations i ON i.no = e.installation_no';

export function endpointById(state: State, applicationNo: number, id: string): Endpoint | undefined {
  return one<Endpoint>(
    state,
    `SELECT ${columns} ${from} WHERE e.id = ? AND e.application_no = ? AND e.removed_at IS NULL`,
    [id, applicationNo],
  );
}

export function endpointByNo(state: State, no: number): Endpoint | undefined {
  return one<Endpoint>(state, `SELECT ${columns} ${from} WHERE e.no = ? AND e.removed_at IS NULL`, [no]);
}

/** Returns the endpoints of an application, oldest first. */
export function endpointsOf(state: State, applicationNo: number): readonly Endpoint[] {
  return all<Endpoint>(
    state,
    `SELECT ${columns} ${from} WHERE e.application_no = ? AND e.removed_at IS NULL ORDER BY e.no`,
    [applicationNo],
  );
}

export function boundEndpoint(
  state: State,
  installationNo: number,
  url: string,
  mode: Realm,
): Endpoint | undefined {
  return one<Endpoint>(
    state,
    `SELECT ${columns} ${from}
     WHERE e.installation_no = ? AND e.url = ? AND e.mode = ? AND e.removed_at IS NULL`,
    [installationNo, url, mode],
  );
}

export function countEndpoints(state: State, applicationNo: number, installationNo: number | null): number {
  const row = one<{ count: number }>(
    state,
    `SELECT count(*) AS count FROM webhook_endpoints
     WHERE application_no = ? AND installation_no IS ? AND removed_at IS NULL`,
    [applicationNo, installationNo],
  );
  return row?.count ?? 0;
}

/** Returns the subscribed events in the requested order. A test send without an event uses the first. */
export function subscribedEvents(state: State, endpointNo: number): readonly EventName[] {
  return all<{ event: EventName }>(
    state,
    'SELECT event FROM webhook_subscriptions WHERE endpoint_no = ? ORDER BY position',
    [endpointNo],
  ).map((row) => row.event);
}

export interface NewEndpoint {
  readonly applicationNo: number;
  readonly installationNo: number | null;
  readonly mode: Realm;
  readonly url: string;
  readonly events: readonly EventName[];
  /** A new one when absent. */
  readonly secret?: string;
}

export function insertEndpoint(
  state: State,
  random: Random,
  endpoint: NewEndpoint,
  now: number,
): { readonly id: string; readonly secret: string } {
  const id = newId(random, 'whe_');
  const { no } = run(
    state,
    `INSERT INTO webhook_endpoints (id, application_no, installation_no, mode, url, created_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
    [id, endpoint.applicationNo, endpoint.installationNo, endpoint.mode, endpoint.url, now],
  );
  insertSubscriptions(state, no, endpoint.events);
  return { id, secret: addSecret(state, no, endpoint.secret ?? newEndpointSecret(random)) };
}

export function replaceEvents(state: State, endpointNo: number, events: readonly EventName[]): void {
  run(state, 'DELETE FROM webhook_subscriptions WHERE endpoint_no = ?', [endpointNo]);
  insertSubscriptions(state, endpointNo, events);
}

function insertSubscriptions(state: State, endpointNo: number, events: readonly EventName[]): void {
  [...new Set(events)].forEach((event, position) => {
    run(state, 'INSERT INTO webhook_subscriptions (event, endpoint_no, position) VALUES (?, ?, ?)', [
      event,
      endpointNo,
      position,
    ]);
  });
}

export function replaceUrl(state: State, endpointNo: number, url: string): void {
  run(state, 'UPDATE webhook_endpoints SET url = ? WHERE no = ?', [url, endpointNo]);
}

/** Enables the endpoint and clears its failure streak. Dead-lettered deliveries stay dead-lettered. */
export function enableEndpoint(state: State, endpointNo: number): void {
  run(state, 'UPDATE webhook_endpoints SET enabled = 1, failing_since = NULL WHERE no = ? AND enabled = 0', [
    endpointNo,
  ]);
}

/** Removes the endpoint with its subscriptions and secrets. Its deliveries are kept as history. */
export function removeEndpoint(state: State, endpointNo: number, now: number): void {
  run(state, 'UPDATE webhook_endpoints SET removed_at = ? WHERE no = ?', [now, endpointNo]);
  run(state, 'DELETE FROM webhook_subscriptions WHERE endpoint_no = ?', [endpointNo]);
  run(state, 'DELETE FROM webhook_secrets WHERE endpoint_no = ?', [endpointNo]);
  run(
    state,
    `UPDATE webhook_deliveries SET state = 'canceled', next_at = NULL, held = 0, settled_at = ?
     WHERE endpoint_no = ? AND state IN ('pending', 'dead')`,
    [now, endpointNo],
  );
}
