import type { Clock } from '../../runtime/clock.js';
import type { DeliveryHazard } from '../hazards.js';
import type { Services } from '../services.js';
import { type Delivery, postpone, settle } from './deliveries.js';
import { signingSecrets } from './endpoint-secrets.js';
import { type Endpoint, endpointByNo } from './endpoints.js';
import { type Outcome, type SenderSettings, send } from './send.js';
import { signatureHeader } from './sign.js';
import { judgeUrl } from './url-policy.js';

/** The network settings of an attempt. */
export interface Wire extends SenderSettings {
  /** Real time, for `t` and timeouts, because receivers check the signature against their own clock. */
  readonly wall: Clock;
}

/** A held delivery is sent after the next one of its endpoint, or after this time if there is none. */
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
  const { delayMillis, hold, ...hazard } = services.hazards.forDelivery(delivery.event) ?? {};
  if (hold === true) return postpone(state, delivery.no, clock.now() + heldMillisMax, true);
  if (delayMillis !== undefined) {
    // A delay alone postpones the delivery and frees the endpoint's slot. With other hazards it must wait here.
    const alone = Object.keys(hazard).length === 0;
    if (alone) return postpone(state, delivery.no, clock.now() + delayMillis, false);
    await clock.wait(delayMillis, signal);
  }
  const outcome = await sendWithHazard(services, wire, endpoint, delivery.body, hazard, signal);
  // Stopped during the attempt: nothing is recorded, and the delivery is sent again after the next start.
  if (outcome === null || signal.aborted) return;
  settle(state, random, delivery, outcome, clock.now());
  services.events.attempted({
    delivery: delivery.id,
    event: delivery.event,
    host: new URL(endpoint.url).host,
    status: outcome.status,
    error: outcome.error,
  });
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

/** Sends the delivery, or returns the outcome the hazard dictates. */
async function sendWithHazard(
  services: Services,
  wire: Wire,
  endpoint: Endpoint,
  body: string,
  hazard: DeliveryHazard,
  signal: AbortSignal,
): Promise<Outcome | null> {
  const unsent = { durationMs: 0, response: '' };
  if (hazard.lose === true) return { status: 200, error: null, ...unsent };
  if (hazard.drop === true) return { status: null, error: 'connection_failed', ...unsent };
  if (hazard.status !== undefined) return { status: hazard.status, error: null, ...unsent };
  if (hazard.duplicate === true) await post(services, wire, endpoint, body, signal);
  return post(services, wire, endpoint, body, signal);
}

/** Signs the body and sends it once, to the current URL of the endpoint. */
export async function post(
  services: Services,
  wire: Wire,
  endpoint: Endpoint,
  body: string,
  signal: AbortSignal,
): Promise<Outcome | null> {
  const verdict = judgeUrl(endpoint.url, services.options.loopbackWebhooks !== 'nobody');
  if (!verdict.ok) return { status: null, error: 'blocked_url', durationMs: 0, response: '' };
  const secrets = signingSecrets(services.state, endpoint.no, services.clock.now());
  const headers = {
    'Content-Type': 'application/json',
    [services.options.headers.signature]: signatureHeader(secrets, Math.floor(wire.wall.now() / 1000), body),
  };
  return send(wire, verdict.target, headers, body, signal);
}
