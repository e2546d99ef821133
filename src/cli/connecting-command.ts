import type { LoadedConfig } from '../config/load.js';
import type { Person } from '../tasks/connect.js';
import type { CommandContext } from './command.js';

/** What every way of connecting needs: the command line, a configuration in the making, somebody to sign in. */
export interface ConnectingCommand {
  readonly context: CommandContext;
  readonly loaded: LoadedConfig;
  readonly person: Person;
  /** Where relative paths of the configuration start. */
  readonly folder: string;
}
