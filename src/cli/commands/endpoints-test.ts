import type { Command } from '../command.js';
import { endpointArgument, endpointId, endpointOptions } from '../endpoint-options.js';
import { exitCodes } from '../exit-codes.js';

export const endpointsTest: Command = {
  name: 'endpoints test',
  summary: 'Make the platform send a signed test event; exit 1 when it is not delivered',
  examples: [
    ['rosterd endpoints test whe_…', 'sends the first event the endpoint subscribes to'],
    ['rosterd endpoints test whe_… --event investment.changed', 'sends this event'],
  ],
  args: [endpointArgument],
  options: [...endpointOptions, { flags: '--event <name>', summary: 'event to send', once: true }],
  async run(context) {
    const { out, options, signal } = context;
    const id = endpointId(context);
    const { managing } = await import('../endpoints.js');
    const { testEndpoint } = await import('../../tasks/management.js');
    const sent = await managing(context, (api) => testEndpoint(api, id, options.text('event'), signal));
    if (options.flag('json')) out.json(sent);
    else {
      const answer = sent.error ?? `answered ${sent.responseCode ?? 'nothing'}`;
      const took = sent.durationMs === null ? '' : ` in ${sent.durationMs} ms`;
      out.line(`${sent.event}: ${sent.delivered ? 'delivered' : 'not delivered'}, ${answer}${took}`);
    }
    return sent.delivered ? exitCodes.done : exitCodes.failed;
  },
};
