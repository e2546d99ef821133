import type { Command } from '../command.js';
import { endpointArgument, endpointId, endpointOptions } from '../endpoint-options.js';
import { exitCodes } from '../exit-codes.js';

export const endpointsDelete: Command = {
  name: 'endpoints delete',
  summary: 'Delete a webhook endpoint and its undelivered events',
  examples: [
    ['rosterd endpoints delete whe_…', 'permanently; polling continues'],
    ['rosterd endpoints delete whe_… --source acme', "one bound to acme's installation"],
  ],
  args: [endpointArgument],
  options: endpointOptions,
  async run(context) {
    const { out, options, signal } = context;
    const { managing } = await import('../endpoints.js');
    const { deleteEndpoint } = await import('../../tasks/management.js');
    const id = endpointId(context);
    await managing(context, (api) => deleteEndpoint(api, id, signal));
    if (options.flag('json')) out.json({ id, deleted: true });
    else out.line(`${id} is deleted`);
    return exitCodes.done;
  },
};
