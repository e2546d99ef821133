import { resolve } from 'node:path';
import { counted } from '../../domain/counted.js';
import { type Command, jsonOption } from '../command.js';
import { exitCodes } from '../exit-codes.js';

export const lakeCheck: Command = {
  name: 'lake check',
  summary: 'Compare every file of a lake with its size and checksum',
  examples: [
    ['rosterd lake check ./lake', 'exit code 1 if a file is missing or damaged'],
    ['rosterd lake check ./lake --json', 'the same for a program'],
  ],
  args: [{ name: '<dir>', summary: 'folder of the lake' }],
  options: [jsonOption],
  async run({ args, io, options, out }) {
    const { checkLake } = await import('../../reading/lake.js');
    const folder = resolve(io.cwd, args[0] ?? '');
    const checked = await checkLake(folder, () => {});
    if (options.flag('json')) out.json(checked);
    else {
      for (const { path, problem } of checked.problems) out.line(`${path}: ${problem}`);
      out.line(
        `${folder}: snapshot ${checked.snapshot} of ${checked.taken_at}, ${counted(checked.snapshots, 'snapshot')}, ${counted(checked.files, 'file')}, ${counted(checked.bytes, 'byte')}: ${checked.problems.length === 0 ? 'all well' : counted(checked.problems.length, 'problem')}`,
      );
    }
    return checked.problems.length === 0 ? exitCodes.done : exitCodes.failed;
  },
};
