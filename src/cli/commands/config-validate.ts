import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';

export const configValidate: Command = {
  name: 'config validate',
  summary: 'Check the configuration and report every problem at once',
  examples: [
    ['rosterd config validate', 'checks ./config.json'],
    ['rosterd config validate --config /etc/rosterd/config.json --json', 'for a script'],
  ],
  options: [...configOptions, jsonOption],
  async run(context) {
    const { InvalidConfig } = await import('../../config/invalid-config.js');
    const { unknownFields } = await import('../../config/unknown-fields.js');
    const { unreadableAuthority } = await import('../../config/unreadable-authority.js');
    const { unreadableSecrets } = await import('../../config/unreadable-secrets.js');
    const { options, out } = context;
    try {
      const { config, file, warnings } = await configOf(context);
      const authority = unreadableAuthority(config);
      const further = [
        ...unknownFields(config),
        ...(authority === null ? [] : [authority]),
        ...(await unreadableSecrets(config)),
      ];
      for (const complaint of further) out.warn(complaint);
      if (options.flag('json')) out.json({ valid: true, problems: [], warnings: [...warnings, ...further] });
      else out.line(`${file ?? 'the environment'} is valid`);
      return exitCodes.done;
    } catch (error) {
      if (!(error instanceof InvalidConfig) || !options.flag('json')) throw error;
      out.json({ valid: false, problems: error.problems, warnings: [] });
      return exitCodes.usage;
    }
  },
};
