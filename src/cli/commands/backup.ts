import { counted } from '../../domain/counted.js';
import { type Command, jsonOption } from '../command.js';
import { databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { endsAsFolder, pathArgument } from '../path-argument.js';

export const backup: Command = {
  name: 'backup',
  summary: 'Write a verified backup of the mirror, while the daemon goes on working',
  examples: [
    ['rosterd backup /backups/mirror.db', 'checks the copy before it gets its name'],
    ['rosterd backup /backups/', 'in a folder, named by the mirror and the time'],
    ['rosterd backup --force latest.db', 'replaces an existing backup, once the new one is complete'],
  ],
  args: [{ name: '<file>', summary: 'file to write, mode 0600, or a folder; a missing folder is created' }],
  options: [...databaseOptions, { flags: '--force', summary: 'replace an existing file' }, jsonOption],
  async run(context) {
    const { args, io, options, out, signal } = context;
    const { location, config } = await mirrorOf(context);
    const target = pathArgument(args[0] ?? '', '<file>', context);
    const { refuseOwnOutput } = await import('../own-output.js');
    await refuseOwnOutput(target, config, context);
    const { backUp } = await import('../../tasks/backup.js');
    const progress = out.progress('backup', io.clock);
    let shown = false;
    const made = await backUp({
      location,
      target,
      isFolder: endsAsFolder(args[0] ?? ''),
      force: options.flag('force'),
      clock: io.clock,
      env: io.env,
      signal,
      onShare: (share) => {
        shown = io.stderr.isTTY === true;
        if (shown) progress.update({ pages: 0, rows: 0, share });
      },
    });
    if (shown) progress.finish();
    if (made.note !== null) out.note(`${made.note}: written as an archive that only rosterd reads`);
    if (options.flag('json')) out.json(made);
    else
      out.line(
        `${made.file}: ${counted(made.rows, 'row')}, ${counted(made.bytes, 'byte')}, verified; schema ${made.schema}`,
      );
    out.note('It contains names, and neither the configuration nor credentials.');
    return exitCodes.done;
  },
};
