import { defined } from '../../domain/defined.js';
import type { WebhookEndpoint } from '../contract/webhooks.js';
import { iso, isoOrNull } from '../http/timestamps.js';
import type { State } from '../state/database.js';
import { type Endpoint, subscribedEvents } from './endpoints.js';

/** Returns the host and the last characters: enough to recognize a URL, but not to call it. Paths may contain secrets. */
export function urlHint(text: string): string {
  return `${new URL(text).host}…${text.slice(-6)}`;
}

/** `created` is set in the create response, which shows the URL and the secret even of a bound endpoint. */
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
      ...defined({ secret: once.secret }),
      failing_since: isoOrNull(endpoint.failing_since),
      last_delivery_at: isoOrNull(endpoint.last_delivery_at),
      last_delivery_status: endpoint.last_delivery_status,
      created_at: iso(endpoint.created_at),
    },
  };
}
