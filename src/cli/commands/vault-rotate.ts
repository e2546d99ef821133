import { counted } from '../../domain/counted.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';

export const vaultRotate: Command = {
  name: 'vault rotate',
  summary: 'Encrypt every secret that rosterd keeps with the first of vault.keys',
  examples: [
    ['rosterd vault rotate', 'daemons may run; they do the same within an hour'],
    ['rosterd vault rotate --json', 'for a script'],
  ],
  options: [...configOptions, jsonOption],
  async run(context) {
    const { io, out, options, signal } = context;
    const { config } = await configOf(context);
    const { rotateVault } = await import('../../tasks/vault.js');
    const rotated = await rotateVault(config, io.clock, signal);
    if (options.flag('json')) out.json(rotated);
    else out.line(`${counted(rotated.replaced, 'secret')} encrypted with the first key`);
    for (const entry of rotated.unreadable)
      out.warn(
        `${entry} does not decrypt with any listed key; it was left as it is. Add its key, or: rosterd vault remove ${entry}`,
      );
    return rotated.unreadable.length === 0 ? exitCodes.done : exitCodes.failed;
  },
};
