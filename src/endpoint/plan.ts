import type { WebhookEndpoint } from '../client/webhook-endpoints.js';
import type { EndpointConfig } from '../config/config.js';
import { type Instant, millisOf, parseInstant } from '../domain/instant.js';
import { showsHost } from './bound.js';
import { isSameAddress } from './same-address.js';
import { type EndpointState, liveSecrets } from './state.js';

export type Step =
  | { readonly kind: 'create' }
  | { readonly kind: 'rotate'; readonly id: string; readonly why: RotationReason }
  | {
      readonly kind: 'update';
      readonly id: string;
      readonly change: { url?: string; events?: readonly string[] };
    }
  | { readonly kind: 'reenable'; readonly id: string }
  | { readonly kind: 'rest'; readonly endpoint: WebhookEndpoint };

export type RotationReason = 'no secret known' | 'answer lost' | 'secret refused' | 'due';

/**
 * The minimum wait before repeating a rotation whose response was lost, while an older secret is still valid. The
 * platform keeps only a few secrets, and quick repetitions would remove the known one.
 */
const repeatMillis = 3_600_000;

/**
 * Returns the next step for the endpoint, from the stored state and the platform's list. The caller repeats this with
 * the result until the step is `rest`; each step removes its own cause.
 */
export function nextStep(
  state: EndpointState,
  listed: readonly WebhookEndpoint[],
  wanted: EndpointConfig,
  now: number,
): Step {
  const endpoint = ours(state, listed, wanted);
  if (endpoint === undefined) return { kind: 'create' };
  const { id } = endpoint;
  const [newest] = state.id === id ? liveSecrets(state, now) : [];
  if (newest === undefined) return { kind: 'rotate', id, why: 'no secret known' };
  const { rotationAskedAt: requested } = state;
  const mayRotate = requested === null || millisSince(requested, now) >= repeatMillis;
  if (requested !== null && mayRotate) return { kind: 'rotate', id, why: 'answer lost' };
  const age = millisSince(newest.since, now);
  // The receiver returns 401 for a signature it cannot verify: another program has rotated the secret, or this clock is
  // wrong. A rotation does not correct a clock, so it is not repeated soon.
  if (isRefused(endpoint, age, now) && age >= repeatMillis && mayRotate)
    return { kind: 'rotate', id, why: 'secret refused' };
  const change = changeTo(endpoint, state, wanted);
  if (change !== null) return { kind: 'update', id, change };
  if (!endpoint.enabled) return { kind: 'reenable', id };
  if (wanted.rotateMillis !== null && age >= wanted.rotateMillis && mayRotate)
    return { kind: 'rotate', id, why: 'due' };
  return { kind: 'rest', endpoint };
}

/** Whether the last delivery was answered with 401, and no earlier than the newest secret, which is `age` old. */
function isRefused(
  { failingSince, lastDeliveryAt, lastDeliveryStatus }: WebhookEndpoint,
  age: number,
  now: number,
): boolean {
  if (failingSince === null || lastDeliveryStatus !== '401') return false;
  const attemptedAt = parseInstant(lastDeliveryAt);
  return attemptedAt === undefined || now - millisOf(attemptedAt) <= age;
}

/**
 * A time in the future, by more than the clocks of two hosts may differ, was written while a clock was ahead. It could be
 * any time ago, and counts as long ago.
 */
function millisSince(at: Instant, now: number): number {
  const millis = now - millisOf(at);
  return millis < -repeatMillis ? Number.POSITIVE_INFINITY : millis;
}

/** Returns the endpoint of the stored id, or one with our address, which a request with a lost response may have created. */
function ours(
  state: EndpointState,
  listed: readonly WebhookEndpoint[],
  wanted: EndpointConfig,
): WebhookEndpoint | undefined {
  const realm = listed.filter(({ mode }) => mode === wanted.mode);
  return (
    realm.find(({ id }) => id === state.id) ??
    realm.find(
      ({ url, installation }) =>
        installation === null && url !== null && isSameAddress(url, wanted.publicUrl),
    )
  );
}

function changeTo(
  endpoint: WebhookEndpoint,
  state: EndpointState,
  wanted: EndpointConfig,
): { url?: string; events?: readonly string[] } | null {
  const moved = isElsewhere(endpoint, state, wanted);
  const current = new Set(endpoint.events);
  const same =
    current.size === new Set(wanted.events).size && wanted.events.every((event) => current.has(event));
  if (!moved && same) return null;
  return { ...(moved ? { url: wanted.publicUrl } : {}), ...(same ? {} : { events: wanted.events }) };
}

/** The platform hides the address of a bound endpoint, so the one that it was given is compared. */
function isElsewhere(
  endpoint: WebhookEndpoint,
  state: EndpointState,
  { publicUrl }: EndpointConfig,
): boolean {
  const url = endpoint.url ?? state.url;
  if (url !== null) return !isSameAddress(url, publicUrl);
  return endpoint.urlHint !== null && !showsHost(endpoint.urlHint, publicUrl);
}
