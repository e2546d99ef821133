import { counted } from '../../domain/counted.js';
import { Fault } from '../../domain/fault.js';
import { type Command, jsonOption } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { pathArgument } from '../path-argument.js';

export const lakeCheck: Command = {
  name: 'lake check',
  summary: 'Compare every file of a lake with its size and checksum',
  examples: [
    ['rosterd lake check ./lake', 'exit code 1 if a file is missing or damaged'],
    ['rosterd lake check ./lake --json', 'the same for a program'],
  ],
  args: [{ name: '<dir>', summary: 'folder of the lake' }],
  options: [jsonOption],
  async run(context) {
    const { args, options, out, signal } = context;
    const { checkLake, damagedLakeHint } = await import('../../reading/lake.js');
    const folder = pathArgument(args[0] ?? '', '<dir>', context);
    const checked = await checkLake(folder, () => {
      if (signal.aborted) throw new Fault('stopped', 'the check was stopped before its end');
    });
    if (options.flag('json')) out.json(checked);
    else {
      for (const { path, problem } of checked.problems) out.line(`${path}: ${problem}`);
      out.line(
        `${folder}: snapshot ${checked.snapshot} of ${checked.taken_at}, ${counted(checked.snapshots, 'snapshot')}, ${counted(checked.files, 'file')}, ${counted(checked.bytes, 'byte')}: ${checked.problems.length === 0 ? 'all well' : counted(checked.problems.length, 'problem')}`,
      );
      if (checked.problems.length > 0) out.note(`Try: ${damagedLakeHint(folder)}`);
    }
    return checked.problems.length === 0 ? exitCodes.done : exitCodes.failed;
  },
};
