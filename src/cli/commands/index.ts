import type { Command } from '../command.js';
import { changes } from './changes.js';
import { configSchema } from './config-schema.js';
import { configShow } from './config-show.js';
import { configValidate } from './config-validate.js';
import { demo } from './demo.js';
import { exportCommand } from './export.js';
import { history } from './history.js';
import { query } from './query.js';
import { run } from './run.js';
import { sandbox } from './sandbox.js';
import { status } from './status.js';
import { sync } from './sync.js';
import { version } from './version.js';

/** In the order help lists them. To add a command, write its file and name it here. */
export const commands: readonly Command[] = [
  demo,
  run,
  sync,
  status,
  query,
  exportCommand,
  changes,
  history,
  sandbox,
  configValidate,
  configShow,
  configSchema,
  version,
];

/** What the first word of two-word commands is about. */
export const groups: Readonly<Record<string, string>> = {
  config: 'Check, show and describe the configuration',
};
