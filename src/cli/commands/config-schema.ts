import type { Command } from '../command.js';
import { exitCodes } from '../exit-codes.js';

export const configSchema: Command = {
  name: 'config schema',
  summary: 'Print the JSON Schema of the configuration, for editors',
  examples: [
    ['rosterd config schema > config.schema.json', 'writes it to a file'],
    ['rosterd config schema | jq .properties.sync', 'shows one section'],
  ],
  async run({ io }) {
    const { configSchemaText } = await import('../../config/describe.js');
    io.stdout.write(configSchemaText());
    return exitCodes.done;
  },
};
