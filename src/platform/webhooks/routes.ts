import { endpointQuota } from '../../wire/limits.js';
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  getWebhookEndpoint,
  listWebhookEndpoints,
  reenableWebhookEndpoint,
  rotateWebhookSecret,
  testWebhookEndpoint,
  updateWebhookEndpoint,
} from '../contract/webhooks.js';
import { callerOf, created, type Exchange, ok, type Reply } from '../http/exchange.js';
import { invalidFields } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import type { Wire } from './attempt.js';
import { rotateSecret } from './endpoint-secrets.js';
import { type Endpoint, enableEndpoint, endpointByNo, endpointsOf, removeEndpoint } from './endpoints.js';
import { bindingFor, createEndpoint, found, updateEndpoint } from './manage.js';
import { presentEndpoint } from './present.js';
import { inRealm, reaches, reachOf, refuseInSandbox, requireEndpoint, requireSomeReach } from './reach.js';
import { resolvesToPublic } from './resolves-to-public.js';
import { sendTest, wasDelivered } from './test-send.js';
import { judgeUrl } from './url-policy.js';

/** `signal` aborts test sends in flight when the server stops. */
export function webhookRoutes(wire: Wire, signal: AbortSignal): readonly Route[] {
  return [
    route(listWebhookEndpoints, ...guarded, requireSomeReach, list),
    route(createWebhookEndpoint, ...guarded, refuseInSandbox, requireSomeReach, (exchange) =>
      create(exchange, wire),
    ),
    route(getWebhookEndpoint, ...guarded, access, (exchange) => show(exchange, requireEndpoint(exchange))),
    route(updateWebhookEndpoint, ...guarded, refuseInSandbox, access, (exchange) => update(exchange, wire)),
    route(deleteWebhookEndpoint, ...guarded, refuseInSandbox, access, remove),
    route(rotateWebhookSecret, ...guarded, refuseInSandbox, access, rotate),
    route(reenableWebhookEndpoint, ...guarded, access, reenable),
    route(testWebhookEndpoint, ...guarded, access, (exchange) => test(exchange, wire, signal)),
  ];
}

/** Checks access before the body is validated, so that the access error does not depend on the body. */
function access(exchange: Exchange): void {
  requireEndpoint(exchange);
}

function list(exchange: Exchange): Reply {
  const caller = callerOf(exchange);
  const { state } = exchange.services;
  const reach = reachOf(exchange);
  const data = endpointsOf(state, caller.app.no)
    .filter((endpoint) => inRealm(caller, endpoint) && reaches(reach, endpoint))
    .map((endpoint) => presentEndpoint(state, endpoint));
  const quota = caller.kind === 'user' ? endpointQuota.appWide : endpointQuota.perInstallation;
  return ok({ data, meta: { count: data.length, quota, request_id: exchange.requestId } });
}

async function create(exchange: Exchange<typeof createWebhookEndpoint>, wire: Wire): Promise<Reply> {
  const wanted = exchange.input.body;
  const installationNo = bindingFor(exchange, wanted);
  await requirePublicUrl(exchange, wire, wanted.url);
  const { endpoint, secret } = createEndpoint(exchange, wanted, installationNo);
  return secret === null
    ? show(exchange, endpoint)
    : shown(exchange, endpoint, { secret, url: true }, created);
}

async function update(exchange: Exchange<typeof updateWebhookEndpoint>, wire: Wire): Promise<Reply> {
  const change = exchange.input.body;
  if (change.url !== undefined) await requirePublicUrl(exchange, wire, change.url);
  // Check again after the await: the endpoint may have been removed.
  return show(exchange, updateEndpoint(exchange, requireEndpoint(exchange), change));
}

function remove(exchange: Exchange): Reply {
  const { state } = exchange.services;
  const endpoint = requireEndpoint(exchange);
  state.transaction(() => removeEndpoint(state, endpoint.no, exchange.now))();
  return ok({ data: { id: endpoint.id, type: 'webhook_endpoint', removed: true } });
}

function rotate(exchange: Exchange): Reply {
  const { state, random } = exchange.services;
  const endpoint = requireEndpoint(exchange);
  const secret = state.transaction(() => rotateSecret(state, random, endpoint.no, exchange.now))();
  return shown(exchange, endpoint, { secret });
}

/** Also available in the sandbox, which only sees test endpoints; only its own deliveries disable those. */
function reenable(exchange: Exchange): Reply {
  const { state } = exchange.services;
  const { no } = requireEndpoint(exchange);
  enableEndpoint(state, no);
  return show(exchange, found(endpointByNo(state, no)));
}

async function test(
  exchange: Exchange<typeof testWebhookEndpoint>,
  wire: Wire,
  signal: AbortSignal,
): Promise<Reply> {
  const { event: asked } = exchange.input.body;
  const endpoint = requireEndpoint(exchange);
  const { app } = callerOf(exchange);
  const result = await sendTest(exchange.services, wire, app, endpoint, asked, exchange.now, signal);
  const { outcome, event, payload } = result;
  return ok({
    data: {
      type: 'webhook_test',
      delivered: wasDelivered(result),
      response_code: outcome.status,
      error: outcome.error,
      duration_ms: outcome.durationMs,
      event,
      payload,
    },
    meta: { request_id: exchange.requestId },
  });
}

const show = (exchange: Exchange, endpoint: Endpoint): Reply => shown(exchange, endpoint, {});

function shown(
  exchange: Exchange,
  endpoint: Endpoint,
  once: { readonly secret?: string; readonly url?: true },
  reply: (body: unknown) => Reply = ok,
): Reply {
  return reply({
    data: presentEndpoint(exchange.services.state, endpoint, once),
    meta: { request_id: exchange.requestId },
  });
}

async function requirePublicUrl(exchange: Exchange, wire: Wire, text: string): Promise<void> {
  const verdict = judgeUrl(text, exchange.services.options.loopbackWebhooks === 'everyone');
  const why = !verdict.ok
    ? verdict.why
    : (await resolvesToPublic(verdict.target, wire))
      ? null
      : 'The URL must be a public address; its host name resolves to a private one.';
  if (why !== null) throw invalidFields([{ field: 'url', code: 'invalid', message: why }]);
}
