import { packageVersion } from '../../runtime/package-version.js';
import { versions } from '../../wire/versions.js';
import { type Command, jsonOption } from '../command.js';
import { exitCodes } from '../exit-codes.js';

export const version: Command = {
  name: 'version',
  summary: 'Print the versions of rosterd, Node and the supported API',
  examples: [
    ['rosterd version', 'for people'],
    ['rosterd version --json', 'for a script or a bug report'],
  ],
  options: [jsonOption],
  async run({ options, out }) {
    const facts = { rosterd: packageVersion(), node: process.versions.node, apiVersions: versions };
    if (options.flag('json')) out.json(facts);
    else out.line(`rosterd ${facts.rosterd}, Node ${facts.node}, API ${versions.join(' and ')}`);
    return exitCodes.done;
  },
};
