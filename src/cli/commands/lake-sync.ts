import { counted } from '../../domain/counted.js';
import type { LakeSynced } from '../../reading/lake.js';
import { type Command, jsonOption } from '../command.js';
import { databaseOptions, locationOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { pathArgument } from '../path-argument.js';

export const lakeSync: Command = {
  name: 'lake sync',
  summary: 'Bring a folder of Parquet files to the state of the mirror',
  examples: [
    ['rosterd lake sync ./lake', 'writes what changed since the last time; no names'],
    ['rosterd lake sync ./lake --identity', 'with names, in files of their own'],
    ['rosterd lake sync ./lake --compact', 'merges changes into the base now'],
  ],
  args: [{ name: '<dir>', summary: 'folder of the lake, mode 0700; created if there is none' }],
  options: [
    ...databaseOptions,
    { flags: '--identity', summary: 'with names, emails, addresses and messages' },
    {
      flags: '--no-identity',
      summary: 'without identity, which removes it from the lake; this is the default',
    },
    { flags: '--compact', summary: 'rewrite the base, even if few rows changed since' },
    { flags: '--keep <n>', summary: 'number of snapshots to keep (default: 100)' },
    jsonOption,
  ],
  async run(context) {
    const { args, io, options, out, signal } = context;
    const dir = args[0] ?? '';
    const folder = pathArgument(dir, '<dir>', context);
    const { refuseUnsupported, syncLake } = await import('../../reading/lake.js');
    refuseUnsupported(dir);
    const location = await locationOf(context);
    const ask = {
      folder,
      identity: options.flag('identity'),
      compact: options.flag('compact'),
      keep: options.whole('keep', { min: 2, max: 100_000 }) ?? 100,
    };
    const synced = await syncLake(location, ask, io.clock, signal);
    if (options.flag('json')) out.json(synced);
    else out.line(sentenceOf(synced));
    if (synced.inexact > 0) out.note(inexactText(synced.inexact));
    if (synced.identity_files !== null) out.note('It contains names: see docs/lake.md about erasing them.');
    return exitCodes.done;
  },
};

const inexactText = (count: number): string =>
  `${counted(count, 'value')} of shares and prices with more digits than DECIMAL(38,12): rounded to 12 decimals, or null from 10^26 on. rosterd query returns them unchanged.`;

function sentenceOf({ folder, snapshot, wrote, rows, changed, deleted, ...files }: LakeSynced): string {
  if (wrote === 'none') return `${folder}: snapshot ${snapshot} is up to date (${counted(rows, 'row')})`;
  const what =
    wrote === 'full'
      ? `${counted(rows, 'row')} written`
      : `${counted(changed, 'row')} changed, ${deleted} deleted, ${rows} in all`;
  return `${folder}: snapshot ${snapshot}, ${what}; ${counted(files.files_written, 'file')}, ${counted(files.bytes_written, 'byte')}`;
}
