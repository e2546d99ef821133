import { counted } from '../../domain/counted.js';
import type { ForgetReceipt } from '../../tasks/forget.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';

export const forget: Command = {
  name: 'forget',
  summary: 'Erase the identity of an investor or investment, and suppress it from now on',
  examples: [
    ['rosterd forget usr_…', 'an investor, in every source'],
    ['rosterd forget inv_…', 'one investment'],
    ['rosterd forget usr_… --lift', 'allow rosterd to store the identity again'],
  ],
  args: [{ name: '<id>', summary: 'inv_… or usr_…' }],
  options: [
    ...configOptions,
    { flags: '--lift', summary: 'undo the suppression; what was erased stays erased' },
    jsonOption,
  ],
  async run(context) {
    const { args, options, out, io, signal } = context;
    const { forget, liftForgotten, personOrInvestment } = await import('../../tasks/forget.js');
    const id = personOrInvestment(args[0] ?? '');
    const { config } = await configOf(context);
    if (options.flag('lift')) {
      const lifted = await liftForgotten(config, id, io.clock, signal);
      if (options.flag('json')) out.json({ id, lifted });
      else out.line(lifted ? `${id} may be stored again` : `${id} was not forgotten`);
      if (lifted)
        out.note('names come back when a record changes, or for all records with: rosterd sync --resync');
      return exitCodes.done;
    }
    const receipt = await forget(config, id, io.clock, signal);
    if (options.flag('json')) out.json(receipt);
    else show(receipt, context);
    return exitCodes.done;
  },
};

function show(receipt: ForgetReceipt, { out }: Parameters<Command['run']>[0]): void {
  const { id, identities, already, invisible_at, bytes, pending, pending_since } = receipt;
  out.line(
    `${id}: identity of ${counted(identities, 'investment')} erased${already ? ', was already forgotten' : ''}`,
  );
  out.line(`invisible since ${invisible_at}; suppressed until --lift`);
  if (bytes === 'scrubbed') out.line('no bytes of it are left in the database files');
  else {
    out.line(`bytes: pending, ${counted(pending, 'erasure')} since ${pending_since ?? invisible_at}`);
    out.warn(
      bytes === 'blocked'
        ? 'another process is using the database file; a running daemon finishes the erasure, or run this command again'
        : 'the disk is too full to rewrite the file; free some space, then run this command again',
    );
  }
  for (const file of receipt.backups_removed) out.line(`removed ${file}, a backup that contained identity`);
  for (const folder of receipt.exports_removed)
    out.line(`removed ${folder}, an export that contained identity`);
  for (const folder of receipt.exports_damaged)
    out.warn(
      `${folder} may be an export with names, but its manifest cannot be read: look at it and delete it`,
    );
  if (receipt.lake === 'rewritten') out.line('the lake was rewritten without it');
  if (receipt.lake === 'pending')
    out.warn(
      'the lake could not be written now; the next rosterd lake sync erases it there, or run this command again',
    );
  if (receipt.other_hosts)
    out.warn(
      'exports and lakes with names on other hosts are cleaned by the daemons there, within minutes, if exports.every and lake.every are set; clean all others yourself',
    );
}
