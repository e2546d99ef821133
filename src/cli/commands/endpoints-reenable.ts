import type { Command } from '../command.js';
import { endpointArgument, endpointId, endpointOptions } from '../endpoint-options.js';
import { exitCodes } from '../exit-codes.js';

export const endpointsReenable: Command = {
  name: 'endpoints reenable',
  summary: 'Switch a disabled webhook endpoint on again',
  examples: [
    [
      'rosterd endpoints reenable whe_…',
      'after three days of failures; sync afterwards, nothing is sent again',
    ],
    ['rosterd endpoints reenable whe_… --json', 'for a script'],
  ],
  args: [endpointArgument],
  options: endpointOptions,
  async run(context) {
    const { out, options, signal } = context;
    const { managing, tellEndpoint } = await import('../endpoints.js');
    const { reenableEndpoint } = await import('../../tasks/management.js');
    const endpoint = await managing(context, (api) => reenableEndpoint(api, endpointId(context), signal));
    if (options.flag('json')) out.json(endpoint);
    else tellEndpoint(endpoint, out);
    out.note('What happened while it was off is not sent again. Try: rosterd sync');
    return exitCodes.done;
  },
};
