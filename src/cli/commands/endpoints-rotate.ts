import type { Command } from '../command.js';
import { endpointArgument, endpointId, endpointOptions, secretFileOption } from '../endpoint-options.js';
import { exitCodes } from '../exit-codes.js';

export const endpointsRotate: Command = {
  name: 'endpoints rotate',
  summary: 'Rotate the signing secret of a webhook endpoint; the old one stays valid for 24 hours',
  examples: [
    [
      'rosterd endpoints rotate whe_… --secret-file hook.secret',
      'replaces the file; no delivery is rejected meanwhile',
    ],
    ['rosterd endpoints rotate whe_…', 'prints the new secret, only once'],
  ],
  args: [endpointArgument],
  options: [...endpointOptions, secretFileOption],
  async run(context) {
    const { signal } = context;
    const id = endpointId(context);
    const { managing, printWithSecret, refuseOtherFile, secretFileOf } = await import('../endpoints.js');
    const { rotateSecret } = await import('../../tasks/management.js');
    const file = await secretFileOf(context);
    const rotated = await managing(context, async (api, config) => {
      await refuseOtherFile(file, config, context);
      return await rotateSecret(api, id, signal);
    });
    await printWithSecret(rotated, file, context);
    return exitCodes.done;
  },
};
