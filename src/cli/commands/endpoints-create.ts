import { defined } from '../../domain/defined.js';
import { Fault } from '../../domain/fault.js';
import { parseId } from '../../domain/ids.js';
import { mirrorEvents } from '../../wire/events.js';
import type { Command } from '../command.js';
import { endpointOptions, secretFileOption } from '../endpoint-options.js';
import { exitCodes } from '../exit-codes.js';

export const endpointsCreate: Command = {
  name: 'endpoints create',
  summary: 'Create a webhook endpoint; its signing secret is shown only once',
  examples: [
    [
      'rosterd endpoints create https://hooks.example.com/webhooks',
      'subscribes to investment.changed and the events of rounds',
    ],
    [
      'rosterd endpoints create https://… --mode test --secret-file hook.secret',
      'for test events; writes the secret to a file',
    ],
  ],
  args: [{ name: '<url>', summary: 'public https address of the receiver' }],
  options: [
    ...endpointOptions,
    {
      flags: '--event <name>',
      summary: 'event to subscribe to (default: investment.changed and offering.*)',
      repeats: true,
    },
    { flags: '--mode <mode>', summary: 'live or test events (default: live)', choices: ['live', 'test'] },
    { flags: '--installation <id>', summary: 'bind it to this installation' },
    {
      ...secretFileOption,
      summary: `${secretFileOption.summary}; an existing FILE stays, and FILE.whe_… gets the secret`,
    },
  ],
  async run(context) {
    const { args, options, signal } = context;
    const { fileOfNew, managing, printWithSecret, refuseOtherFile, secretFileOf } = await import(
      '../endpoints.js'
    );
    const { createEndpoint } = await import('../../tasks/management.js');
    const file = await secretFileOf(context);
    const events = options.list('event');
    const named = options.text('installation');
    const installation = parseId('installation', named);
    if (named !== undefined && installation === undefined)
      throw new Fault('usage', `--installation is ${JSON.stringify(named)}`, {
        hint: 'an id such as inst_…',
      });
    const wanted = {
      url: args[0] ?? '',
      events: events.length === 0 ? mirrorEvents : events,
      mode: options.text('mode') === 'test' ? ('test' as const) : ('live' as const),
      ...defined({ installation }),
    };
    const created = await managing(context, async (api, config) => {
      await refuseOtherFile(file, config, context);
      return await createEndpoint(api, wanted, signal);
    });
    await printWithSecret(created, fileOfNew(created, file), context);
    return exitCodes.done;
  },
};
