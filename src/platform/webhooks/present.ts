import type { WebhookEndpoint } from '../contract/webhooks.js';
import type { State } from '../state/database.js';
import { type Endpoint, subscribedEvents } from './endpoints.js';

export const iso = (at: number): string => new Date(at).toISOString();
const isoOrNull = (at: number | null): string | null => (at === null ? null : iso(at));

/** Enough to recognise a URL by, too little to call it: receivers often keep a secret in the path. */
export function urlHint(text: string): string {
  return `${new URL(text).host}…${text.slice(-6)}`;
}

/** `created` is given by the one response that shows a new endpoint, which may hold its URL and secret even if bound. */
export function presentEndpoint(
  state: State,
  endpoint: Endpoint,
  once: { readonly secret?: string; readonly url?: true } = {},
): WebhookEndpoint {
  const showUrl = endpoint.installation_no === null || once.url === true;
  return {
    id: endpoint.id,
    type: 'webhook_endpoint',
    attributes: {
      ...(showUrl ? { url: endpoint.url } : {}),
      url_hint: urlHint(endpoint.url),
      installation: endpoint.installation,
      mode: endpoint.mode,
      events: [...subscribedEvents(state, endpoint.no)],
      enabled: endpoint.enabled === 1,
      ...(once.secret === undefined ? {} : { secret: once.secret }),
      failing_since: isoOrNull(endpoint.failing_since),
      last_delivery_at: isoOrNull(endpoint.last_delivery_at),
      last_delivery_status: endpoint.last_delivery_status,
      created_at: iso(endpoint.created_at),
    },
  };
}
