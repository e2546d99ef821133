import type { InstallationId } from '../domain/ids.js';
import { paths } from '../wire/paths.js';
import type { Api } from './api.js';
import { fieldsOf, listOf, resourceOf, sameAs, textIn, textOrNullIn, textsIn } from './resource.js';

export interface WebhookEndpoint {
  readonly id: string;
  /** Null on a bound endpoint, which has `urlHint` instead. */
  readonly url: string | null;
  readonly urlHint: string | null;
  readonly installation: string | null;
  readonly mode: string;
  readonly events: readonly string[];
  readonly enabled: boolean;
  readonly failingSince: string | null;
  readonly lastDeliveryAt: string | null;
  readonly lastDeliveryStatus: string | null;
  readonly createdAt: string | null;
}

/** The secret is in the responses to create and rotate only. */
export interface EndpointWithSecret {
  readonly endpoint: WebhookEndpoint;
  readonly secret: string | null;
}

export interface EndpointList {
  readonly endpoints: readonly WebhookEndpoint[];
  /** Maximum number of endpoints of the application. */
  readonly quota: number | null;
}

export interface NewEndpoint {
  readonly url: string;
  readonly events: readonly string[];
  readonly mode?: 'live' | 'test';
  readonly installation?: InstallationId;
}

export interface EndpointChange {
  readonly url?: string;
  /** Replaces the whole list; unchanged when absent. */
  readonly events?: readonly string[];
}

export interface TestSend {
  readonly delivered: boolean;
  readonly responseCode: number | null;
  /** Null when the endpoint responded, else `timeout`, `blocked_url`, `tls_error` or `connection_failed`. */
  readonly error: string | null;
  readonly durationMs: number | null;
  readonly event: string;
}

export async function listEndpoints(api: Api, signal: AbortSignal): Promise<EndpointList> {
  const { body } = await api({ path: paths.webhookEndpoints, signal });
  const { quota } = fieldsOf(fieldsOf(body).meta);
  return {
    endpoints: listOf(body, 'webhook endpoint').map((item) => endpointOf(item)),
    quota: typeof quota === 'number' ? quota : null,
  };
}

export async function getEndpoint(api: Api, id: string, signal: AbortSignal): Promise<WebhookEndpoint> {
  const { body } = await api({ path: paths.webhookEndpoint, params: { external_id: id }, signal });
  return requestedOf(body, id);
}

/** Not repeated after a lost response: the endpoint may exist already, with a secret that was never received. */
export async function createEndpoint(
  api: Api,
  wanted: NewEndpoint,
  signal: AbortSignal,
): Promise<EndpointWithSecret> {
  const { body } = await api({ method: 'POST', path: paths.webhookEndpoints, body: wanted, signal });
  return withSecret(body);
}

export async function updateEndpoint(
  api: Api,
  id: string,
  change: EndpointChange,
  signal: AbortSignal,
): Promise<WebhookEndpoint> {
  const { body } = await api({
    method: 'PATCH',
    path: paths.webhookEndpoint,
    params: { external_id: id },
    body: change,
    replayable: true,
    signal,
  });
  return requestedOf(body, id);
}

/** Also cancels its pending deliveries. */
export async function deleteEndpoint(api: Api, id: string, signal: AbortSignal): Promise<void> {
  await api({ method: 'DELETE', path: paths.webhookEndpoint, params: { external_id: id }, signal });
}

/**
 * Rotates the secret; the old one stays valid for signatures for 24 hours. Not repeated after a lost response: a
 * second rotation would end the overlap of the first.
 */
export async function rotateSecret(api: Api, id: string, signal: AbortSignal): Promise<EndpointWithSecret> {
  const body = await act(api, id, '/rotate_secret', signal);
  requestedOf(body, id);
  return withSecret(body);
}

/** Enables the endpoint again. The platform does not replay missed deliveries: sync afterwards. */
export async function reenableEndpoint(api: Api, id: string, signal: AbortSignal): Promise<WebhookEndpoint> {
  return requestedOf(await act(api, id, '/reenable', signal, { replayable: true }), id);
}

/** Sends a test delivery. Without `event` the platform sends the first one the endpoint subscribes to. */
export async function testEndpoint(
  api: Api,
  id: string,
  event: string | undefined,
  signal: AbortSignal,
): Promise<TestSend> {
  const body = await act(api, id, '/test', signal, event === undefined ? {} : { body: { event } });
  const data = fieldsOf(fieldsOf(body).data);
  return {
    delivered: data.delivered === true,
    responseCode: typeof data.response_code === 'number' ? data.response_code : null,
    error: textOrNullIn(data, 'error'),
    durationMs: typeof data.duration_ms === 'number' ? data.duration_ms : null,
    event: textIn(data, 'event'),
  };
}

async function act(
  api: Api,
  id: string,
  action: string,
  signal: AbortSignal,
  more: { readonly body?: unknown; readonly replayable?: boolean } = {},
): Promise<unknown> {
  const path = `${paths.webhookEndpoint}${action}`;
  return (await api({ method: 'POST', path, params: { external_id: id }, signal, ...more })).body;
}

function withSecret(body: unknown): EndpointWithSecret {
  const { data } = fieldsOf(body);
  return {
    endpoint: endpointOf(data),
    secret: textOrNullIn(fieldsOf(fieldsOf(data).attributes), 'secret'),
  };
}

const requestedOf = (body: unknown, id: string): WebhookEndpoint =>
  sameAs(id, endpointOf(fieldsOf(body).data), 'webhook endpoint');

function endpointOf(value: unknown): WebhookEndpoint {
  const { id, attributes } = resourceOf(value, 'webhook endpoint');
  return {
    id,
    url: textOrNullIn(attributes, 'url'),
    urlHint: textOrNullIn(attributes, 'url_hint'),
    installation: textOrNullIn(attributes, 'installation'),
    mode: textIn(attributes, 'mode'),
    events: textsIn(attributes, 'events'),
    enabled: attributes.enabled === true,
    failingSince: textOrNullIn(attributes, 'failing_since'),
    lastDeliveryAt: textOrNullIn(attributes, 'last_delivery_at'),
    lastDeliveryStatus: textOrNullIn(attributes, 'last_delivery_status'),
    createdAt: textOrNullIn(attributes, 'created_at'),
  };
}
