import { Fault } from '../domain/fault.js';
import { shellWord } from '../domain/shell-word.js';
import type { CommandContext, OptionDefinition } from './command.js';
import { configOf } from './config-options.js';

/** Options that select sources beside their names. */
export const selectionOptions: readonly OptionDefinition[] = [
  { flags: '--rule <name>', summary: 'every source that this follow rule created', once: true },
  { flags: '--all', summary: 'every source' },
];

/** Names in a message; the rest is counted. */
export const namesMax = 20;

/**
 * Returns the sources that the arguments name, or that `--rule` or `--all` selects, and the words of the command line that
 * select them. Throws `usage` for an unknown name, and
 * unless exactly one of the three selects.
 */
export async function selectedSources(context: CommandContext) {
  const { args, options, io } = context;
  const { config } = await configOf(context);
  const rule = options.text('rule');
  const choices = [args.length > 0, rule !== undefined, options.flag('all')].filter(Boolean).length;
  if (choices !== 1)
    throw new Fault(
      'usage',
      choices === 0 ? 'no source is named' : 'give names, --rule or --all, not several',
      {
        hint: 'names of sources, --rule NAME, or --all',
      },
    );
  const { noSource, sourceNames } = await import('../reading/sources.js');
  const known = await sourceNames(config.database, io.clock, config, rule ?? null);
  if (rule !== undefined && known.length === 0)
    throw new Fault('usage', `no follow rule called ${JSON.stringify(rule)} has a source`, {
      hint: 'rosterd sources list',
    });
  const has = new Set(known);
  const unknown = args.find((name) => !has.has(name));
  if (unknown !== undefined) throw noSource(unknown);
  const selection = rule !== undefined ? ['--rule', rule] : args.length > 0 ? args : ['--all'];
  return { config, names: args.length > 0 ? args : known, selection: selection.map(shellWord).join(' ') };
}
