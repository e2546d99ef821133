import { existsSync } from 'node:fs';
import { counted, grouped } from '../../domain/counted.js';
import { Fault } from '../../domain/fault.js';
import { type Command, type CommandContext, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { databaseFromFlag } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { given } from '../options.js';

/** Smaller migrations take about a second and print no progress to a log file. */
const rowsWorthALine = 100_000;

export const migrate: Command = {
  name: 'migrate',
  summary: 'Copy a mirror from a SQLite file to PostgreSQL, without listing anything again',
  examples: [
    [
      'rosterd migrate --from sqlite:mirror.db --to postgres://db/mirror --dry-run',
      'checks both and writes nothing',
    ],
    [
      'rosterd migrate --from sqlite:data/mirror.db --to postgres://db/mirror',
      'copies every row and compares; reads the password from PGPASSWORD',
    ],
  ],
  options: [
    ...configOptions,
    { flags: '--from <address>', summary: 'the mirror to copy: sqlite:FILE; stop rosterd first' },
    { flags: '--to <address>', summary: 'an empty database: postgres://USER@HOST:PORT/DATABASE' },
    { flags: '--dry-run', summary: 'print what would be copied, and write nothing' },
    jsonOption,
  ],
  async run(context) {
    const { io, options, out, signal } = context;
    const dryRun = options.flag('dryRun');
    const from = await locationOf(context, 'from', 'sqlite:data/mirror.db');
    const to = await locationOf(context, 'to', 'postgres://USER@HOST:PORT/DATABASE');
    const { migrate } = await import('../../tasks/migrate.js');
    const progress = out.progress('migrate', io.clock);
    let moved = 0;
    const done = await migrate({
      from,
      to,
      dryRun,
      signal,
      clock: io.clock,
      ledgerFile: await ledgerOf(context),
      onRows: (rows, rowsTotal) => {
        moved = rows;
        if (io.stderr.isTTY === true || rows >= rowsWorthALine)
          progress.update({ pages: 0, rows, rowsTotal });
      },
    });
    if (io.stderr.isTTY === true && moved > 0) progress.finish();
    if (options.flag('json')) {
      out.json(done);
      return exitCodes.done;
    }
    out.table(
      [{ title: 'table' }, { title: 'rows', align: 'right' }],
      done.tables.filter(({ rows }) => rows > 0).map(({ table, rows }) => [table, grouped(rows)]),
    );
    if (dryRun) {
      out.line(`${counted(done.rows, 'row')} to copy from ${done.from} to ${done.to}; nothing was written`);
      return exitCodes.done;
    }
    out.line(
      `${counted(done.rows, 'row')} copied from ${done.from} to ${done.to}, read back and found equal`,
    );
    out.note(
      `Set "database" to ${JSON.stringify(done.database)} before you start rosterd again: it continues from the same cursor.\n` +
        `${done.from} still contains everything, including names, and so do its scheduled backups and exports.\n` +
        'Erasures no longer reach them: delete them when you no longer need them.',
    );
    return exitCodes.done;
  },
};

function locationOf({ options, io }: CommandContext, flag: 'from' | 'to', example: string) {
  const told = options.text(flag);
  if (told === undefined)
    throw new Fault('usage', `--${flag} is missing`, { hint: `rosterd migrate --${flag} ${example}` });
  return databaseFromFlag(given(told, `--${flag}`), io.cwd, `--${flag}`);
}

/** Returns the forget ledger of the configuration, or null without a configuration: migrating needs none. */
async function ledgerOf(context: CommandContext): Promise<string | null> {
  const { io, options } = context;
  const { configFileOf } = await import('../../config/document.js');
  const asked = options.text('config') !== undefined || options.list('set').length > 0;
  if (!asked && !existsSync(configFileOf({ file: undefined, cwd: io.cwd, env: io.env }))) return null;
  return (await configOf(context)).config.forget.ledger;
}
