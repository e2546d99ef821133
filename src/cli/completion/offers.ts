import type { Command as Commander, Option } from 'commander';

/** The words and flags that completion offers at one point of the command line. */
export interface Place {
  /** The command words typed so far: `config validate`; empty at the start. */
  readonly path: string;
  readonly words: readonly Offer[];
  readonly flags: readonly Flag[];
}

export interface Offer {
  readonly text: string;
  readonly summary: string;
}

export interface Flag {
  readonly long: string;
  readonly short: string | null;
  readonly summary: string;
  /** The flag's argument as help prints it: `<file>`; empty when it takes none. */
  readonly argument: string;
  /** The kind of value: none, one of a few words, a file, or free text that completion cannot offer. */
  readonly value:
    | null
    | { readonly kind: 'choice'; readonly choices: readonly string[] }
    | { readonly kind: 'file' | 'free' };
}

/** Returns every point of the command line, from the tree that parses it: completion offers what the parser accepts. */
export function placesOf(program: Commander): readonly Place[] {
  return [placeOf(program, ''), ...below(program, '')];
}

function below(parent: Commander, path: string): readonly Place[] {
  return parent.commands.flatMap((command) => {
    const inner = path === '' ? command.name() : `${path} ${command.name()}`;
    return [placeOf(command, inner), ...below(command, inner)];
  });
}

function placeOf(command: Commander, path: string): Place {
  const help = command.createHelp();
  return {
    path,
    words:
      command.commands.length === 0
        ? []
        : help.visibleCommands(command).map((inner) => ({
            text: inner.name(),
            summary: help.subcommandDescription(inner),
          })),
    flags: help.visibleOptions(command).flatMap((option) => flagOf(option)),
  };
}

function flagOf(option: Option): readonly Flag[] {
  if (option.long === undefined) return [];
  const { long, short, description, argChoices, flags } = option;
  const argument = /<[^>]+>/.exec(flags)?.[0] ?? '';
  return [
    { long, short: short ?? null, summary: description, argument, value: followsOf(option, argChoices) },
  ];
}

function followsOf({ required, flags }: Option, choices: readonly string[] | undefined): Flag['value'] {
  if (!required) return null;
  if (choices !== undefined) return { kind: 'choice', choices };
  return { kind: /<(?:file|folder)>/.test(flags) ? 'file' : 'free' };
}
