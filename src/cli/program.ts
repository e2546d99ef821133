import { Command as Commander, InvalidArgumentError, Option } from 'commander';
import { packageVersion } from '../runtime/package-version.js';
import type { Command, OptionDefinition } from './command.js';
import { groups } from './commands/groups.js';
import { Options } from './options.js';

export interface ProgramHooks {
  readonly writeOut: (text: string) => void;
  readonly columns: number;
  run(command: Command, args: readonly string[], options: Options): Promise<void>;
}

/** Options of every command. */
const commonOptions: readonly OptionDefinition[] = [
  {
    flags: '--log-level <level>',
    summary: 'lowest severity to log',
    choices: ['debug', 'info', 'warn', 'error'],
  },
  { flags: '--log-format <format>', summary: 'format of the log', choices: ['auto', 'pretty', 'json'] },
];

/** Builds commander's command tree. Throws errors instead of exiting the process. */
export function programOf(commands: readonly Command[], hooks: ProgramHooks): Commander {
  const program = new Commander('rosterd')
    .description("Keeps a local SQL copy of an investment platform's investor records")
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .exitOverride()
    .showSuggestionAfterError(true)
    .configureHelp({ helpWidth: Math.min(hooks.columns, 100), sortSubcommands: false })
    // Help goes to stdout even when it is shown for a usage error, so that it can be piped to a pager.
    .configureOutput({ writeOut: hooks.writeOut, writeErr: hooks.writeOut, outputError: () => {} })
    .helpCommand('help [command]', 'show help for a command')
    .addHelpText('after', exitCodeHelp);

  const parents = new Map<string, Commander>();
  for (const command of commands) {
    const words = command.name.split(' ');
    const last = words.at(-1) ?? '';
    const group = words.length > 1 ? (words[0] ?? '') : '';
    const parent = group === '' ? program : (parents.get(group) ?? program.command(group));
    if (group !== '' && !parents.has(group)) {
      parents.set(group, parent.description(groups[group] ?? ''));
    }
    addCommand(parent.command(last), command, hooks);
  }
  return program;
}

/** Returns a tree that runs and prints nothing, for generating completion and the manual page. */
export function silentProgram(commands: readonly Command[]): Commander {
  return programOf(commands, { writeOut: () => {}, columns: 80, run: async () => {} });
}

const exitCodeHelp = `
Exit codes:
  0 done                        3 a human must re-authorize
  1 failed                      4 drift found
  2 usage or configuration      5 stopped before the end`;

function addCommand(target: Commander, command: Command, hooks: ProgramHooks): void {
  target
    .description(command.summary)
    .addHelpText('before', examplesText(command))
    .allowExcessArguments(false);
  for (const { name, summary } of command.args ?? []) target.argument(name, summary);
  for (const definition of [...(command.options ?? []), ...commonOptions])
    target.addOption(optionOf(definition));
  target.action(async () => {
    await hooks.run(command, target.args, new Options(target.opts()));
  });
}

function optionOf({ flags, summary, choices, repeats, once }: OptionDefinition): Option {
  const option = new Option(flags, summary);
  if (choices !== undefined) option.choices(choices);
  if (repeats === true) {
    // Throws for a value that is not among the choices.
    const check = option.parseArg;
    option.argParser((value: string, held: readonly string[] | undefined) => {
      check?.(value, undefined);
      return [...(held ?? []), value];
    });
  }
  if (once === true) {
    const check = option.parseArg;
    option.argParser((value: string, held: string | undefined) => {
      if (held !== undefined) throw new InvalidArgumentError('It is the second one, and only one is taken.');
      check?.(value, undefined);
      return value;
    });
  }
  return option;
}

function examplesText({ examples }: Command): string {
  const lines = examples.map(([line, does]) => `  ${line}\n      ${does}`);
  return `Examples:\n${lines.join('\n')}\n`;
}
