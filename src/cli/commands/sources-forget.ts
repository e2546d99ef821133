import { counted } from '../../domain/counted.js';
import { Fault } from '../../domain/fault.js';
import type { SourceShown } from '../../reading/sources.js';
import type { ForgetSourceReceipt } from '../../tasks/forget-source.js';
import { type Command, type CommandContext, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';
import { showErasedCopies } from '../output/erased-copies.js';

export const sourcesForget: Command = {
  name: 'sources forget',
  summary: 'Stop a source and erase everything stored of it',
  examples: [
    ['rosterd sources forget acme', 'asks for the name again before it erases'],
    ['rosterd sources forget acme --yes --json', 'for a script; prints the receipt'],
  ],
  args: [{ name: '<name>', summary: 'the name of the source; not one that config.json lists' }],
  options: [...configOptions, { flags: '--yes', summary: 'erase without a question' }, jsonOption],
  async run(context) {
    const { args, options, out, io, signal } = context;
    const { config } = await configOf(context);
    const { isHalfErased, noSource, showSource } = await import('../../reading/sources.js');
    const { forgetSource, refuseListed } = await import('../../tasks/forget-source.js');
    const { parseSourceName } = await import('../../domain/ids.js');
    const name = parseSourceName(args[0]);
    if (name === undefined) throw noSource(args[0] ?? '');
    refuseListed(config, name);
    const known = { daemons: [], problems: [], waits: [], spacings: {} };
    const shown = await showSource(config.database, io.clock, config, known, name);
    // An erasure that a crash ended was confirmed before.
    if (shown === null && !(await isHalfErased(config.database, name))) throw noSource(name);
    if (shown !== null && !options.flag('yes')) await confirm(shown, context);
    const receipt = await forgetSource(config, name, io.clock, signal);
    if (options.flag('json')) out.json(receipt);
    else show(receipt, context);
    return exitCodes.done;
  },
};

const withoutQuestion = 'to erase without a question: --yes';

/** Throws `usage` unless a person at the terminal types the name of the source. */
async function confirm(shown: SourceShown, { io, out, signal }: CommandContext): Promise<void> {
  const { source, rows, company_name, company_id } = shown;
  const of = company_id === null ? '' : ` of ${company_name ?? company_id}`;
  const what = `${source}${of}: ${counted(rows, 'row')}, their history, changes and names`;
  if (io.stdin.isTTY !== true) throw new Fault('usage', `this erases ${what}`, { hint: withoutQuestion });
  out.note(`This erases ${what}. It cannot be undone.`);
  const { Conversation } = await import('../conversation.js');
  const person = new Conversation(io, signal, withoutQuestion);
  try {
    const typed = await person.ask('Type the name of the source to erase it', '', () => undefined);
    if (typed !== source) throw new Fault('usage', 'nothing was erased: another name was typed');
  } finally {
    person.close();
  }
}

function show(receipt: ForgetSourceReceipt, { out }: CommandContext): void {
  const { source, erased_rows, erased_at, target, stays_forgotten } = receipt;
  out.line(`${source}: ${counted(erased_rows, 'row')} erased at ${erased_at}`);
  if (stays_forgotten)
    out.line(`${target} is not followed any more; to follow it again: rosterd sources follow ${source}`);
  showErasedCopies(receipt, erased_at, out);
}
