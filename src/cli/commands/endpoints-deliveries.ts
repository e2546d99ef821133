import type { Delivery } from '../../tasks/deliveries.js';
import type { WebhookEndpoint } from '../../tasks/management.js';
import type { Command, CommandContext } from '../command.js';
import { deliveryCalls } from '../delivery-calls.js';
import { endpointOptions } from '../endpoint-options.js';
import { exitCodes } from '../exit-codes.js';
import { sandboxUrlOption } from '../sandbox-url.js';

export const endpointsDeliveries: Command = {
  name: 'endpoints deliveries',
  summary: 'List webhook deliveries of a sandbox; of a real platform, the last of each endpoint',
  examples: [
    ['rosterd endpoints deliveries', 'the newest of all endpoints, with the last answer'],
    [
      'rosterd endpoints deliveries whe_… --limit 100 --json',
      'of one endpoint with every attempt, for a script',
    ],
  ],
  args: [{ name: '[id]', summary: 'the endpoint, whe_… (default: all)' }],
  options: [
    ...endpointOptions,
    sandboxUrlOption,
    { flags: '--limit <number>', summary: 'greatest number of deliveries (default: 20)' },
  ],
  async run(context) {
    const { options, out } = context;
    const limit = options.whole('limit', { min: 1, max: 1_000 }) ?? 20;
    const calls = await deliveryCalls(context);
    const endpoints = calls === null || options.text('source') !== undefined ? await ours(context) : null;
    if (calls === null) {
      const { lastDelivery, stateOf } = await import('../endpoints.js');
      if (options.flag('json')) out.json({ deliveries: null, endpoints: (endpoints ?? []).map(lastOf) });
      else {
        out.table(
          ['ENDPOINT', 'STATE', 'LAST DELIVERY'].map((title) => ({ title })),
          (endpoints ?? []).map((one) => [one.id, stateOf(one), lastDelivery(one)]),
        );
        out.note(
          "The platform's API reports only the last delivery of an endpoint; its developer portal lists more.",
        );
      }
      return exitCodes.done;
    }
    const { listDeliveries } = await import('../../tasks/deliveries.js');
    const all = await listDeliveries(
      { endpoint: context.args[0], limit: endpoints === null ? limit : 1_000 },
      calls,
    );
    const deliveries = all
      .filter(({ endpoint }) => endpoints === null || endpoints.some(({ id }) => id === endpoint))
      .slice(0, limit);
    if (options.flag('json')) out.json({ deliveries, endpoints: null });
    else if (deliveries.length === 0) out.note(`There is no delivery yet in the sandbox at ${calls.url}.`);
    else show(deliveries, context);
    return exitCodes.done;
  },
};

/** Returns the endpoints that the configured token manages: all, or the named one. */
async function ours(context: CommandContext): Promise<readonly WebhookEndpoint[]> {
  const { args, signal } = context;
  const [id] = args;
  const { managing } = await import('../endpoints.js');
  const { getEndpoint, listEndpoints } = await import('../../tasks/management.js');
  return managing(context, async (api) =>
    id === undefined ? (await listEndpoints(api, signal)).endpoints : [await getEndpoint(api, id, signal)],
  );
}

const lastOf = ({ id, enabled, failingSince, lastDeliveryAt, lastDeliveryStatus }: WebhookEndpoint) => ({
  id,
  enabled,
  failingSince,
  lastDeliveryAt,
  lastDeliveryStatus,
});

function show(deliveries: readonly Delivery[], { out }: CommandContext): void {
  out.table(
    ['DELIVERY', 'CREATED', 'EVENT', 'EVENT ID', 'STATE', 'ATTEMPTS', 'LAST ANSWER'].map((title) => ({
      title,
    })),
    deliveries.map(({ id, createdAt, event, eventId, state, attempts }) => {
      const last = attempts.at(-1);
      const answer = last === undefined ? '' : (last.error ?? String(last.status ?? ''));
      return [id, createdAt, event, eventId, state, String(attempts.length), answer];
    }),
  );
}
