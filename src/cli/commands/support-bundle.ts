import { existsSync } from 'node:fs';
import type { LoadedConfig } from '../../config/document.js';
import { Fault } from '../../domain/fault.js';
import { instantFromMillis } from '../../domain/instant.js';
import { type Command, configOptions } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';
import { refuseOwnOutput } from '../own-output.js';
import { pathArgument } from '../path-argument.js';

export const supportBundle: Command = {
  name: 'support-bundle',
  summary: 'Write what helps to find a problem into one file, without names and secrets',
  examples: [
    ['rosterd support-bundle', 'rosterd-support-….json in this folder'],
    ['rosterd support-bundle /tmp/rosterd.json', 'versions, configuration, doctor, ticks, log, schema'],
  ],
  args: [{ name: '[file]', summary: 'file to write, mode 0600 (default: rosterd-support-TIME.json)' }],
  options: [...configOptions, { flags: '--force', summary: 'replace an existing file' }],
  async run(context) {
    const { args, io, options, out, signal } = context;
    const time = instantFromMillis(io.clock.now()).slice(0, 19).replaceAll(/[-:]/g, '');
    const file = pathArgument(args[0] ?? `rosterd-support-${time}Z.json`, '[file]', context);
    if (existsSync(file) && !options.flag('force'))
      throw new Fault('usage', `${file} exists`, { hint: 'name another file, or add --force to replace it' });
    // Once: it may be a pipe, and its warnings are printed.
    let loading: Promise<LoadedConfig> | undefined;
    const load = () => {
      loading ??= configOf(context);
      return loading;
    };
    const config = await load().then(
      (loaded) => loaded.config,
      () => null,
    );
    await refuseOwnOutput(file, config, context);
    const [{ writeSupportBundle }, { systemRandom }, { silentLogger }] = await Promise.all([
      import('../../doctor/support-bundle.js'),
      import('../../runtime/random.js'),
      import('../../runtime/logger.js'),
    ]);
    const parts = {
      clock: io.clock,
      random: systemRandom,
      logger: silentLogger,
      nodeVersion: process.versions.node,
      env: io.env,
    };
    await writeSupportBundle(file, load, parts, signal);
    out.line(file);
    out.note(
      'It contains ids, times, counts and host names, no names of people and no secrets. Read it before you send it.',
    );
    return exitCodes.done;
  },
};
