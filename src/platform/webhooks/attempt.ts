import type { EventName } from '../../contract/events.js';
import type { Clock } from '../../runtime/clock.js';
import type { Services } from '../services.js';
import { type Delivery, postpone, settle } from './deliveries.js';
import { signingSecrets } from './endpoint-secrets.js';
import { type Endpoint, endpointByNo } from './endpoints.js';
import { type Outcome, type SenderSettings, send } from './send.js';
import { signatureHeader } from './sign.js';
import { judgeUrl } from './url-policy.js';

/** What a sandbox may do to a delivery in place of sending it once and now. */
export type DeliveryFault =
  | { readonly kind: 'lost' }
  | { readonly kind: 'late'; readonly millis: number }
  | { readonly kind: 'doubled' }
  | { readonly kind: 'reordered' };

export interface AttemptAbout {
  readonly delivery: string;
  readonly endpoint: string;
  readonly event: EventName;
}

/** Asked before each attempt. */
export type AttemptHook = (about: AttemptAbout) => DeliveryFault | null;

/** How an attempt reaches the outside. */
export interface Wire extends SenderSettings {
  /** Real time, for `t` and for timeouts: a receiver in another process judges a signature by its own clock. */
  readonly wall: Clock;
  readonly beforeAttempt: AttemptHook;
}

/** A reordered delivery goes after the next one of its endpoint, or after this long when there is none. */
const heldMillisMax = 5_000;

export async function attempt(
  services: Services,
  wire: Wire,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<void> {
  const { state, clock, random } = services;
  const endpoint = endpointByNo(state, delivery.endpoint_no);
  if (endpoint === undefined) return;
  const fault = wire.beforeAttempt({
    delivery: delivery.id,
    endpoint: endpoint.id,
    event: delivery.event,
  });
  if (fault?.kind === 'late') return postpone(state, delivery.no, clock.now() + fault.millis, false);
  if (fault?.kind === 'reordered') return postpone(state, delivery.no, clock.now() + heldMillisMax, true);
  if (fault?.kind === 'lost') return settle(state, random, delivery, lostOnTheWay, clock.now());
  if (fault?.kind === 'doubled') await post(services, wire, endpoint, delivery.body, signal);
  const outcome = await post(services, wire, endpoint, delivery.body, signal);
  // Stopped in the middle: nothing is booked, and after the next start the same delivery goes out again.
  if (outcome === null) return;
  settle(state, random, delivery, outcome, clock.now());
  services.logger.debug(
    {
      component: 'platform',
      endpoint: endpoint.id,
      eventId: delivery.event_id,
      event: delivery.event,
      outcome: outcome.error ?? String(outcome.status),
      tookMs: outcome.durationMs,
    },
    'webhook attempt',
  );
}

/** The platform believes it was taken, and nobody has it. */
const lostOnTheWay: Outcome = { status: 200, error: null, durationMs: 0, response: '' };

/** Signs and sends once, to where the endpoint points now. */
export async function post(
  services: Services,
  wire: Wire,
  endpoint: Endpoint,
  body: string,
  signal: AbortSignal,
): Promise<Outcome | null> {
  const verdict = judgeUrl(endpoint.url, services.options.loopbackWebhooks);
  if (!verdict.ok) return { status: null, error: 'blocked_url', durationMs: 0, response: '' };
  const secrets = signingSecrets(services.state, endpoint.no, services.clock.now());
  const headers = {
    'Content-Type': 'application/json',
    [services.options.headers.signature]: signatureHeader(secrets, Math.floor(wire.wall.now() / 1000), body),
  };
  return send(wire, verdict.target, headers, body, signal);
}
