import type { EventName } from '../../wire/events.js';
import type { DeliveryError } from '../contract/webhooks.js';
import { notFound, Problem } from '../http/problem.js';
import { iso } from '../http/timestamps.js';
import type { Services } from '../services.js';
import type { State } from '../state/database.js';
import { all, one } from '../state/statements.js';
import { type Delivery, deliveryById, restart } from './deliveries.js';
import { rotateSecret } from './endpoint-secrets.js';
import { type Endpoint, enableEndpoint, endpointByNo, removeEndpoint, replaceEvents } from './endpoints.js';

export type PortalAct =
  | { readonly kind: 'update'; readonly events: readonly EventName[] }
  | { readonly kind: 'rotate' }
  | { readonly kind: 'reenable' }
  | { readonly kind: 'remove' };

/**
 * Applies a change requested in the developer portal by a manager of the organization. Only app-wide endpoints can be
 * changed. Returns the new secret of a rotation, which is shown once, or null.
 */
export function portalWrite(services: Services, id: string, act: PortalAct): string | null {
  const { state, random, clock } = services;
  return state.transaction(() => {
    const { no, installation_no } = anyEndpoint(state, id);
    if (installation_no !== null) throw boundEndpointRefused();
    switch (act.kind) {
      case 'update':
        replaceEvents(state, no, act.events);
        return null;
      case 'rotate':
        return rotateSecret(state, random, no, clock.now());
      case 'reenable':
        enableEndpoint(state, no);
        return null;
      case 'remove':
        removeEndpoint(state, no, clock.now());
        return null;
    }
  })();
}

const boundEndpointRefused = (): Problem =>
  new Problem(403, 'bound_endpoint', 'This endpoint belongs to an installation, which manages it.', {
    remediation: 'Use the token of that installation, or one of a person with a role there.',
  });

export interface DeliveryView {
  readonly id: string;
  readonly endpoint: string;
  readonly installation: string;
  readonly event_id: string;
  readonly event: string;
  readonly state: Delivery['state'];
  readonly created_at: string;
  readonly next_attempt_at: string | null;
  readonly attempts: readonly AttemptView[];
}

export interface AttemptView {
  readonly at: string;
  readonly status: number | null;
  readonly error: DeliveryError | null;
  readonly duration_ms: number;
  readonly response: string;
}

interface DeliveryRow extends Delivery {
  readonly endpoint: string;
  readonly installation: string;
}

interface AttemptRow {
  readonly at: number;
  readonly status: number | null;
  readonly error: DeliveryError | null;
  readonly duration_ms: number;
  readonly response: string;
}

/** Returns deliveries with their attempts, newest first. */
export function listDeliveries(
  state: State,
  about: { readonly endpoint?: string; readonly delivery?: string; readonly limit: number },
): readonly DeliveryView[] {
  return all<DeliveryRow>(
    state,
    `SELECT d.*, e.id AS endpoint, i.id AS installation FROM webhook_deliveries d
     JOIN webhook_endpoints e ON e.no = d.endpoint_no JOIN installations i ON i.no = d.installation_no
     WHERE (:endpoint IS NULL OR e.id = :endpoint) AND (:delivery IS NULL OR d.id = :delivery)
     ORDER BY d.no DESC LIMIT :limit`,
    { endpoint: about.endpoint ?? null, delivery: about.delivery ?? null, limit: about.limit },
  ).map((row) => ({
    id: row.id,
    endpoint: row.endpoint,
    installation: row.installation,
    event_id: row.event_id,
    event: row.event,
    state: row.state,
    created_at: iso(row.created_at),
    next_attempt_at: row.next_at === null ? null : iso(row.next_at),
    attempts: attemptsOf(state, row.no),
  }));
}

function attemptsOf(state: State, deliveryNo: number): readonly AttemptView[] {
  return all<AttemptRow>(
    state,
    `SELECT at, status, error, duration_ms, response FROM webhook_attempts WHERE delivery_no = ? ORDER BY no`,
    [deliveryNo],
  ).map((row) => ({ ...row, at: iso(row.at) }));
}

/** Resends a delivery with the same bytes and event id. Returns its endpoint. */
export function resendDelivery(state: State, id: string, now: number): number {
  return state.transaction(() => {
    const delivery = deliveryById(state, id);
    if (delivery === undefined) throw notFound('The delivery');
    const endpoint = endpointByNo(state, delivery.endpoint_no);
    if (delivery.state === 'canceled' || endpoint === undefined) {
      throw new Problem(409, 'conflict', 'A canceled delivery cannot be sent again.');
    }
    if (endpoint.enabled === 0) {
      throw new Problem(409, 'conflict', 'The endpoint is disabled.', {
        remediation: 'Re-enable the endpoint first.',
      });
    }
    restart(state, delivery.no, now);
    return endpoint.no;
  })();
}

/** Returns the endpoint with that id, of any application. Throws 404 when it does not exist or was removed. */
export function anyEndpoint(state: State, id: string): Endpoint {
  const row = one<{ no: number }>(state, 'SELECT no FROM webhook_endpoints WHERE id = ?', [id]);
  const endpoint = row === undefined ? undefined : endpointByNo(state, row.no);
  if (endpoint === undefined) throw notFound('The webhook endpoint');
  return endpoint;
}
