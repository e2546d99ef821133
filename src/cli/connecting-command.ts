import type { LoadedConfig } from '../config/document.js';
import type { Person } from '../tasks/connect.js';
import type { CommandContext } from './command.js';

/** What every form of `rosterd connect` needs. The configuration may still be incomplete. */
export interface ConnectingCommand {
  readonly context: CommandContext;
  readonly loaded: LoadedConfig;
  readonly person: Person;
  /** The folder that relative paths of the configuration start from. */
  readonly folder: string;
}
