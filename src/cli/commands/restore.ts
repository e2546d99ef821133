import { counted } from '../../domain/counted.js';
import type { RestoreReceipt } from '../../tasks/restore.js';
import { type Command, type CommandContext, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';
import { pathArgument } from '../path-argument.js';

export const restore: Command = {
  name: 'restore',
  summary: 'Replace the mirror by a backup; forgotten people stay forgotten',
  examples: [
    ['rosterd restore /backups/mirror.db', 'stop rosterd first; verifies the backup before it is used'],
    ['rosterd restore --force /backups/mirror.db', 'replaces an existing mirror'],
  ],
  args: [{ name: '<file>', summary: 'a file that rosterd backup made' }],
  options: [...configOptions, { flags: '--force', summary: 'replace an existing mirror' }, jsonOption],
  async run(context) {
    const { args, io, options, out, signal } = context;
    const { config } = await configOf(context);
    const { restore } = await import('../../tasks/restore.js');
    const receipt = await restore({
      config,
      backup: pathArgument(args[0] ?? '', '<file>', context),
      force: options.flag('force'),
      clock: io.clock,
      env: io.env,
      signal,
    });
    if (options.flag('json')) out.json(receipt);
    else show(receipt, context);
    return exitCodes.done;
  },
};

function show(receipt: RestoreReceipt, { out }: CommandContext): void {
  const { database, format, rows, made_at, proven, moved_aside, forgotten, sources_erased } = receipt;
  const from = made_at === null ? '' : ` of ${made_at}`;
  out.line(`${database}: ${counted(rows, 'row')} restored from the backup${from}`);
  if (!proven)
    out.warn(
      format === 'pg_dump'
        ? 'a file of pg_dump has no digests: its rows were counted, but their content could not be compared'
        : 'the backup was not made by rosterd backup: only its structure could be checked, not its rows',
    );
  if (moved_aside !== null)
    out.line(
      `the damaged file is now ${moved_aside} and still contains names; delete it when you do not need it`,
    );
  if (forgotten > 0) out.line(`${counted(forgotten, 'forget request')} applied again`);
  if (sources_erased.length > 0)
    out.line(`erased again, as in the replaced mirror: ${sources_erased.join(', ')}`);
  out.note('Next: start rosterd, which reads what changed since the backup; then run rosterd verify.');
}
