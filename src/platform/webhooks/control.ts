import { z } from 'zod';
import { type EventName, eventNames } from '../../contract/events.js';
import { operation } from '../../contract/operation.js';
import { created, type Exchange, ok, type Reply } from '../http/exchange.js';
import { invalidFields, notFound, Problem } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { one } from '../state/statements.js';
import type { DeliveryLoop } from './delivery-loop.js';
import { boundEndpoint, insertEndpoint } from './endpoints.js';
import { listDeliveries, resendDelivery } from './portal.js';
import { judgeUrl } from './url-policy.js';

const tag = 'Sandbox';

const createWebhook = operation({
  id: 'sandboxCreateWebhook',
  method: 'POST',
  path: '/_sandbox/webhooks',
  tag,
  summary: 'Create a webhook endpoint as if on the live API',
  scopes: null,
  body: z.object({
    url: z.string(),
    events: z
      .array(z.enum(eventNames as readonly [EventName, ...EventName[]]))
      .min(1)
      .default([...eventNames]),
    installation: z.string().optional(),
    mode: z.enum(['live', 'test']).default('test'),
  }),
  responses: { 201: { description: 'Its id and secret.' } },
  errors: [404, 409, 422],
});

const listAll = operation({
  id: 'sandboxListDeliveries',
  method: 'GET',
  path: '/_sandbox/deliveries',
  tag,
  summary: 'Deliveries and their attempts, newest first',
  scopes: null,
  query: z.object({
    endpoint: z.string().optional(),
    limit: z.coerce.number().int().min(1).max(1000).default(100),
  }),
  responses: { 200: { description: 'Deliveries.' } },
  errors: [],
});

const resend = operation({
  id: 'sandboxResendDelivery',
  method: 'POST',
  path: '/_sandbox/deliveries/{id}/resend',
  tag,
  summary: 'Send a delivery again, as from the portal',
  scopes: null,
  responses: { 200: { description: 'It is pending again.' } },
  errors: [404, 409],
});

/** What the portal, or a person on the live API, would do to endpoints: a sandbox has neither. */
export function controlRoutes(loop: DeliveryLoop): readonly Route[] {
  return [
    route(createWebhook, create),
    route(listAll, list),
    route(resend, (exchange) => {
      const { state } = exchange.services;
      const id = exchange.params.id ?? '';
      loop.wakeFor([resendDelivery(state, id, exchange.now)]);
      return ok({ id, state: 'pending' });
    }),
  ];
}

function create(exchange: Exchange): Reply {
  const wanted = exchange.input.body as z.infer<typeof createWebhook.body>;
  const { state, random, options } = exchange.services;
  const verdict = judgeUrl(wanted.url, options.loopbackWebhooks);
  if (!verdict.ok) throw invalidFields([{ field: 'url', code: 'invalid', message: verdict.why }]);
  const owner = ownerOf(exchange, wanted.installation);
  const { installationNo } = owner;
  if (
    installationNo !== null &&
    boundEndpoint(state, installationNo, wanted.url, wanted.mode) !== undefined
  ) {
    throw new Problem(409, 'conflict', 'This installation has an endpoint with that URL and mode.');
  }
  const endpoint = { ...owner, mode: wanted.mode, url: wanted.url, events: wanted.events };
  return created(state.transaction(() => insertEndpoint(state, random, endpoint, exchange.now))());
}

/** The installation's application, or the sandbox's first. */
function ownerOf(
  exchange: Exchange,
  installation: string | undefined,
): { readonly applicationNo: number; readonly installationNo: number | null } {
  const { state } = exchange.services;
  if (installation === undefined) {
    const first = one<{ no: number }>(state, 'SELECT no FROM applications ORDER BY no LIMIT 1');
    if (first === undefined) throw notFound('An application');
    return { applicationNo: first.no, installationNo: null };
  }
  const row = one<{ no: number; application_no: number }>(
    state,
    'SELECT no, application_no FROM installations WHERE id = ? AND revoked_at IS NULL',
    [installation],
  );
  if (row === undefined) throw notFound('The installation');
  return { applicationNo: row.application_no, installationNo: row.no };
}

function list(exchange: Exchange): Reply {
  const { endpoint, limit } = exchange.input.query as z.infer<typeof listAll.query>;
  const about = endpoint === undefined ? { limit } : { endpoint, limit };
  return ok({ data: listDeliveries(exchange.services.state, about) });
}
