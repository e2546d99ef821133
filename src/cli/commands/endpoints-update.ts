import { defined } from '../../domain/defined.js';
import { Fault } from '../../domain/fault.js';
import type { Command } from '../command.js';
import { endpointArgument, endpointId, endpointOptions } from '../endpoint-options.js';
import { exitCodes } from '../exit-codes.js';

export const endpointsUpdate: Command = {
  name: 'endpoints update',
  summary: 'Change the address or the events of a webhook endpoint',
  examples: [
    ['rosterd endpoints update whe_… --url https://new.example.com/webhooks', 'changes its address'],
    ['rosterd endpoints update whe_… --event investment.changed', 'replaces its events'],
  ],
  args: [endpointArgument],
  options: [
    ...endpointOptions,
    { flags: '--url <url>', summary: 'new address of the endpoint' },
    { flags: '--event <name>', summary: 'event to subscribe to; replaces all current events', repeats: true },
  ],
  async run(context) {
    const { out, options, signal } = context;
    const id = endpointId(context);
    const { managing, printEndpoint } = await import('../endpoints.js');
    const { updateEndpoint } = await import('../../tasks/management.js');
    const url = options.text('url');
    const events = options.list('event');
    if (url === undefined && events.length === 0)
      throw new Fault('usage', 'nothing to change', { hint: 'give --url or --event' });
    const change = { ...defined({ url }), ...(events.length === 0 ? {} : { events }) };
    const endpoint = await managing(context, (api) => updateEndpoint(api, id, change, signal));
    if (options.flag('json')) out.json(endpoint);
    else printEndpoint(endpoint, out);
    return exitCodes.done;
  },
};
