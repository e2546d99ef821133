import { type CommandContext, configOptions, jsonOption, type OptionDefinition } from './command.js';
import { given } from './options.js';

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

/** Throws `usage` for an empty id. */
export const endpointId = ({ args }: CommandContext): string => given(args[0] ?? '', '<id>');
