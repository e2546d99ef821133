import type { Command } from '../command.js';
import { endpointOptions } from '../endpoint-options.js';
import { exitCodes } from '../exit-codes.js';

export const endpointsList: Command = {
  name: 'endpoints list',
  summary: 'List webhook endpoints and their state',
  examples: [
    ['rosterd endpoints list', 'those of the application'],
    ['rosterd endpoints list --source acme --json', "those bound to acme's installation, for a script"],
  ],
  options: endpointOptions,
  async run(context) {
    const { out, options, signal } = context;
    const { addressOf, lastDelivery, managing, stateOf } = await import('../endpoints.js');
    const { listEndpoints } = await import('../../tasks/management.js');
    const list = await managing(context, (api) => listEndpoints(api, signal));
    if (options.flag('json')) out.json(list);
    else if (list.endpoints.length === 0) {
      const source = options.text('source');
      const bound = source === undefined ? '' : ` --source ${source}`;
      out.note(
        `There is no endpoint yet.\nTry: \`rosterd endpoints create https://your.host/webhooks${bound}\``,
      );
    } else {
      out.table(
        ['ID', 'URL', 'MODE', 'EVENTS', 'STATE', 'LAST DELIVERY'].map((title) => ({ title })),
        list.endpoints.map((endpoint) => [
          endpoint.id,
          addressOf(endpoint),
          endpoint.mode,
          endpoint.events.length > 3 ? `${endpoint.events.length} events` : endpoint.events.join(' '),
          stateOf(endpoint),
          lastDelivery(endpoint),
        ]),
      );
      if (list.quota !== null) out.note(`${list.endpoints.length} of ${list.quota} allowed`);
    }
    return exitCodes.done;
  },
};
