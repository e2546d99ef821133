import type { Blocking } from '../runtime/blocking.js';
import type { ExitCode } from './exit-codes.js';
import type { Io } from './io.js';
import type { Options } from './options.js';
import type { Output } from './output/output.js';

export interface OptionDefinition {
  /** In commander's notation: `--source <name>`, `--json`. */
  readonly flags: string;
  readonly summary: string;
  readonly choices?: readonly string[];
  /** May be given several times. */
  readonly repeats?: boolean;
  /** A second value is refused. Other options take the last one; here it would leave out what the first one selects. */
  readonly once?: boolean;
}

export interface ArgumentDefinition {
  /** `<sql>` is required, `[id]` is optional, `[names...]` may be given several times. */
  readonly name: string;
  readonly summary: string;
}

export interface CommandContext {
  readonly io: Io;
  readonly out: Output;
  readonly args: readonly string[];
  readonly options: Options;
  /**
   * Aborts at the first SIGINT, SIGTERM or SIGHUP, and when the reader of stdout closes it: finish the page and return.
   */
  readonly signal: AbortSignal;
  readonly blocking: Blocking;
  /** Loads the definitions of all commands. */
  readonly allCommands: () => Promise<readonly Command[]>;
}

/** What the list of all commands shows of each. */
export type Outline = Pick<Command, 'name' | 'summary' | 'args'>;

/**
 * A command is data and one function. Definitions import nothing heavy. Each command imports its implementation inside
 * `run`, so that help prints without loading a database driver.
 */
export interface Command {
  /** The words to type: `config validate`. */
  readonly name: string;
  readonly summary: string;
  /** Shown first in the help: a command line, and what it does. */
  readonly examples: readonly (readonly [line: string, does: string])[];
  readonly args?: readonly ArgumentDefinition[];
  readonly options?: readonly OptionDefinition[];
  /** SIGHUP reloads it, except on a terminal; every other command is stopped by SIGHUP. */
  readonly reloads?: true;
  run(context: CommandContext): Promise<ExitCode>;
}

/** Options of every command that reads the configuration; `config-options.ts` reads them back. */
export const configOptions: readonly OptionDefinition[] = [
  { flags: '--config <file>', summary: 'configuration file (default: ./config.json)' },
  {
    flags: '--set <path=value>',
    summary: 'set one option, such as sync.perPage=50; overrides the file and the environment',
    repeats: true,
  },
];

export const jsonOption: OptionDefinition = { flags: '--json', summary: 'print JSON for programs' };
