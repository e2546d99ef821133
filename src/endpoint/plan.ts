import type { WebhookEndpoint } from '../client/webhook-endpoints.js';
import type { EndpointConfig } from '../config/config.js';
import { millisOf } from '../domain/instant.js';
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
 * A rotation whose answer was lost is not repeated sooner than this while an older secret still signs: the platform
 * keeps a handful of secrets, and repeating in a hurry would push out the one we know.
 */
const repeatMillis = 3_600_000;

/**
 * What the endpoint needs next, from what we know and what the platform lists. Done again with the outcome until
 * it rests; each step takes away its own cause.
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
  const asked = state.rotationAskedAt === null ? null : millisOf(state.rotationAskedAt);
  const mayRotate = asked === null || now - asked >= repeatMillis;
  if (asked !== null && mayRotate) return { kind: 'rotate', id, why: 'answer lost' };
  const age = now - millisOf(newest.since);
  // Our receiver answers 401 to nothing but a signature it cannot verify: somebody else has rotated.
  const refused = endpoint.failingSince !== null && endpoint.lastDeliveryStatus === '401';
  if (refused && age >= repeatMillis && mayRotate) return { kind: 'rotate', id, why: 'secret refused' };
  const change = changeTo(endpoint, wanted);
  if (change !== null) return { kind: 'update', id, change };
  if (!endpoint.enabled) return { kind: 'reenable', id };
  if (wanted.rotateMillis !== null && age >= wanted.rotateMillis && mayRotate)
    return { kind: 'rotate', id, why: 'due' };
  return { kind: 'rest', endpoint };
}

/** The one we made, or one that an answer we never got may have made: what posts to our address is ours. */
function ours(
  state: EndpointState,
  listed: readonly WebhookEndpoint[],
  wanted: EndpointConfig,
): WebhookEndpoint | undefined {
  const realm = listed.filter(({ mode }) => mode === wanted.mode);
  return (
    realm.find(({ id }) => id === state.id) ??
    realm.find(({ url, installation }) => installation === null && url === wanted.publicUrl)
  );
}

/** Bound endpoints do not show their address, so only those that do are moved. */
function changeTo(
  endpoint: WebhookEndpoint,
  wanted: EndpointConfig,
): { url?: string; events?: readonly string[] } | null {
  const moved = endpoint.url !== null && endpoint.url !== wanted.publicUrl;
  const held = new Set(endpoint.events);
  const same = held.size === new Set(wanted.events).size && wanted.events.every((event) => held.has(event));
  if (!moved && same) return null;
  return { ...(moved ? { url: wanted.publicUrl } : {}), ...(same ? {} : { events: wanted.events }) };
}
