import { Fault } from '../../domain/fault.js';
import type { Command } from '../command.js';
import { exitCodes } from '../exit-codes.js';

export const completion: Command = {
  name: 'completion',
  summary: 'Print the completion script of a shell',
  examples: [
    ['source <(rosterd completion bash)', 'in ~/.bashrc; the same with zsh in ~/.zshrc, after compinit'],
    ['rosterd completion fish > ~/.config/fish/completions/rosterd.fish', 'once, for fish'],
  ],
  args: [{ name: '<shell>', summary: 'bash, zsh or fish' }],
  async run({ args, io, allCommands }) {
    const [shell = ''] = args;
    const { completionScript, shells } = await import('../completion/script.js');
    const script = completionScript(shell, await allCommands());
    if (script === null)
      throw new Fault('usage', `there is no completion for ${JSON.stringify(shell)}`, {
        hint: `one of: ${shells.join(', ')}`,
      });
    io.stdout.write(script);
    return exitCodes.done;
  },
};
