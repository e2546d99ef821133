import { Fault } from '../domain/fault.js';
import { type CommandContext, configOptions, jsonOption, type OptionDefinition } from './command.js';

/** Options of every `endpoints` command. */
export const endpointOptions: readonly OptionDefinition[] = [
  ...configOptions,
  { flags: '--source <name>', summary: "use this source's token instead of platform.management" },
  jsonOption,
];

export const secretFileOption: OptionDefinition = {
  flags: '--secret-file <file>',
  summary: 'write the signing secret there, mode 0600, instead of printing it',
};

export const endpointArgument = { name: '<id>', summary: 'the endpoint, whe_…' };

/** Throws `usage` for an empty id, which comes from a variable of a script that is not set. */
export function endpointId({ args }: CommandContext): string {
  const id = args[0] ?? '';
  if (id.trim() !== '') return id;
  throw new Fault('usage', `<id> is ${JSON.stringify(id)}`, {
    hint: 'name it; a variable in the command may be empty',
  });
}
