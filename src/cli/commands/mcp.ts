import type { Config } from '../../config/config.js';
import type { Logger } from '../../runtime/logger.js';
import type { Command, CommandContext } from '../command.js';
import { databaseOptions, mirrorOf } from '../database-options.js';
import { exitCodes } from '../exit-codes.js';
import { wantsColor } from '../output/color.js';

export const mcp: Command = {
  name: 'mcp',
  summary: 'Let an AI assistant read the mirror, over the Model Context Protocol',
  examples: [
    [
      'claude mcp add rosterd -- rosterd mcp --config /etc/rosterd/config.json',
      'the assistant starts it by itself; others: docs/assistants.md',
    ],
    ['rosterd mcp --database data/mirror.db', 'reads this mirror; needs no configuration'],
  ],
  options: [
    ...databaseOptions,
    {
      flags: '--identity',
      summary: 'let the assistant read names, emails, addresses and messages; they are masked without it',
    },
  ],
  async run(context) {
    const { io, options, out, signal } = context;
    const { location, config } = await mirrorOf(context);
    const identity = options.flag('identity');
    const [{ serveAssistant }, { packageVersion }] = await Promise.all([
      import('../../assistants/serve.js'),
      import('../../runtime/package-version.js'),
    ]);
    const logger = await loggerOf(context, config);
    if (io.stdin.isTTY === true)
      out.note(
        'waiting for messages of the Model Context Protocol on stdin; an assistant starts this command',
      );
    const parts = { location, config, identity, clock: io.clock, logger, version: packageVersion() };
    await serveAssistant(parts, io, signal);
    return exitCodes.done;
  },
};

/** Assistants keep what is written to stderr; without a configuration, the flags alone decide. */
async function loggerOf({ io, options }: CommandContext, config: Config | null): Promise<Logger> {
  const { createLogger } = await import('../../daemon/logging.js');
  const level = config?.log.level ?? options.text('logLevel') ?? 'info';
  const format = config?.log.format ?? options.text('logFormat') ?? 'auto';
  return createLogger({
    level: level as Config['log']['level'],
    format: format as Config['log']['format'],
    stream: io.stderr,
    color: wantsColor(io.stderr, io.env),
    clock: io.clock,
  }).child({ component: 'mcp' });
}
