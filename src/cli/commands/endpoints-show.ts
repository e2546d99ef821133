import type { Command } from '../command.js';
import { endpointArgument, endpointId, endpointOptions } from '../endpoint-options.js';
import { exitCodes } from '../exit-codes.js';

export const endpointsShow: Command = {
  name: 'endpoints show',
  summary: 'Show one webhook endpoint',
  examples: [
    ['rosterd endpoints show whe_…', 'its events, its health, its last delivery'],
    ['rosterd endpoints show whe_… --json', 'for a script'],
  ],
  args: [endpointArgument],
  options: endpointOptions,
  async run(context) {
    const { out, options, signal } = context;
    const id = endpointId(context);
    const { managing, printEndpoint } = await import('../endpoints.js');
    const { getEndpoint } = await import('../../tasks/management.js');
    const endpoint = await managing(context, (api) => getEndpoint(api, id, signal));
    if (options.flag('json')) out.json(endpoint);
    else printEndpoint(endpoint, out);
    return exitCodes.done;
  },
};
