import { type Command, configOptions } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';

export const vaultRemove: Command = {
  name: 'vault remove',
  summary: 'Delete one secret that rosterd keeps, such as one that does not decrypt',
  examples: [
    ['rosterd vault remove sign-in/crm', 'then sign in again: rosterd connect --source crm'],
    ['rosterd vault remove endpoint/live', 'the daemon rotates the secret and stores it again'],
  ],
  args: [{ name: '<entry>', summary: 'sign-in/NAME, installation/ID or endpoint/MODE' }],
  options: [...configOptions],
  async run(context) {
    const { args, io, out, signal } = context;
    const { config } = await configOf(context);
    const { removeFromVault } = await import('../../tasks/vault.js');
    const entry = args[0] ?? '';
    await removeFromVault(config, io.clock, entry, signal);
    out.line(`${entry} was deleted`);
    return exitCodes.done;
  },
};
