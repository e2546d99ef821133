import { counted } from '../../domain/counted.js';
import type { ForgetReceipt } from '../../tasks/forget.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';
import { showErasedCopies } from '../output/erased-copies.js';

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
  const { id, identities, already, invisible_at } = receipt;
  out.line(
    `${id}: identity of ${counted(identities, 'investment')} erased${already ? ', was already forgotten' : ''}`,
  );
  out.line(`invisible since ${invisible_at}; suppressed until --lift`);
  showErasedCopies(receipt, receipt.invisible_at, out);
}
