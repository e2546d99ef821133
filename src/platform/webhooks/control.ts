import { z } from 'zod';
import { defined } from '../../domain/defined.js';
import { type EventName, eventNames } from '../../wire/events.js';
import { created, type Exchange, ok, type Reply } from '../http/exchange.js';
import { badParameter, invalidFields, notFound, Problem } from '../http/problem.js';
import type { Route } from '../http/route.js';
import { controlRoute } from '../sandbox/control/control-route.js';
import { one } from '../state/statements.js';
import type { DeliveryLoop } from './delivery-loop.js';
import { boundEndpoint, insertEndpoint, removeEndpoint } from './endpoints.js';
import { anyEndpoint, listDeliveries, resendDelivery } from './portal.js';
import { judgeUrl } from './url-policy.js';

const createBody = z.strictObject({
  url: z.string(),
  events: z
    .array(z.enum(eventNames as readonly [EventName, ...EventName[]]))
    .min(1)
    .default([...eventNames]),
  installation: z.string().optional(),
  mode: z.enum(['live', 'test']).default('test'),
  /** A program that registers again after a reset keeps its secret. Without it the sandbox creates one. */
  secret: z
    .string()
    .regex(/^whsec_[A-Za-z0-9]{20,100}$/, 'must be whsec_ and 20 to 100 letters and digits')
    .optional(),
});

/** Control calls for endpoints that replace actions in the portal or on the live API. */
export function controlRoutes(loop: DeliveryLoop): readonly Route[] {
  return [
    controlRoute('POST', '/_sandbox/webhooks', createBody, create),
    controlRoute('GET', '/_sandbox/webhooks/{id}', null, (exchange) => {
      const { id, url, mode, enabled } = anyEndpoint(exchange.services.state, exchange.params.id ?? '');
      return ok({ id, url, mode, enabled: enabled === 1 });
    }),
    controlRoute('DELETE', '/_sandbox/webhooks/{id}', null, (exchange) => {
      const { state } = exchange.services;
      const { id, no } = anyEndpoint(state, exchange.params.id ?? '');
      state.transaction(() => removeEndpoint(state, no, exchange.now))();
      return ok({ id, removed: true });
    }),
    controlRoute('GET', '/_sandbox/deliveries', null, list),
    controlRoute('GET', '/_sandbox/deliveries/{id}', null, ({ services, params }) => {
      const [delivery] = listDeliveries(services.state, { delivery: params.id ?? '', limit: 1 });
      if (delivery === undefined) throw notFound('The delivery');
      return ok(delivery);
    }),
    controlRoute('POST', '/_sandbox/deliveries/{id}/resend', null, (exchange) => {
      const { state } = exchange.services;
      const id = exchange.params.id ?? '';
      loop.wakeFor([resendDelivery(state, id, exchange.now)]);
      return ok({ id, state: 'pending' });
    }),
  ];
}

function create(exchange: Exchange, wanted: z.output<typeof createBody>): Reply {
  const { state, random } = exchange.services;
  const verdict = judgeUrl(wanted.url, true);
  if (!verdict.ok) throw invalidFields([{ field: 'url', code: 'invalid', message: verdict.why }]);
  const owner = ownerOf(exchange, wanted.installation);
  const { installationNo } = owner;
  if (
    installationNo !== null &&
    boundEndpoint(state, installationNo, wanted.url, wanted.mode) !== undefined
  ) {
    throw new Problem(409, 'conflict', 'This installation has an endpoint with that URL and mode.');
  }
  const { mode, url, events, secret } = wanted;
  const endpoint = { ...owner, mode, url, events, ...defined({ secret }) };
  return created(state.transaction(() => insertEndpoint(state, random, endpoint, exchange.now))());
}

/** Returns the application of the installation, or the first application of the sandbox. */
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

/** Lists deliveries. `?endpoint=whe_…` filters, `?limit=` sets the page size. */
function list(exchange: Exchange): Reply {
  const endpoint = exchange.query.get('endpoint');
  const limit = Number(exchange.query.get('limit') ?? 100);
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw badParameter('limit', 'limit must be a whole number from 1.');
  const about = endpoint === null ? { limit } : { endpoint, limit };
  return ok({ data: listDeliveries(exchange.services.state, about) });
}
