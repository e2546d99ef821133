import type { Command } from '../command.js';
import { endpointArgument, endpointId, endpointOptions } from '../endpoint-options.js';
import { exitCodes } from '../exit-codes.js';

export const endpointsReenable: Command = {
  name: 'endpoints reenable',
  summary: 'Enable a disabled webhook endpoint again',
  examples: [
    [
      'rosterd endpoints reenable whe_…',
      'after three days of failures; then run sync, missed events are not resent',
    ],
    ['rosterd endpoints reenable whe_… --json', 'for a script'],
  ],
  args: [endpointArgument],
  options: endpointOptions,
  async run(context) {
    const { out, options, signal } = context;
    const id = endpointId(context);
    const { managing, printEndpoint } = await import('../endpoints.js');
    const { reenableEndpoint } = await import('../../tasks/management.js');
    const endpoint = await managing(context, (api) => reenableEndpoint(api, id, signal));
    if (options.flag('json')) out.json(endpoint);
    else printEndpoint(endpoint, out);
    out.note('Events missed while it was disabled are not sent again. Try: rosterd sync');
    return exitCodes.done;
  },
};
