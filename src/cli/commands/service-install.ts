import { join } from 'node:path';
import { packageRoot } from '../../runtime/package-root.js';
import type { Command } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { pathOption } from '../path-argument.js';

const configUsual = '/etc/rosterd/config.json';

export const serviceInstall: Command = {
  name: 'service install',
  summary: 'Install the systemd unit with the paths of this installation; starts nothing',
  examples: [
    ['rosterd service install --dry-run', 'prints the steps and the unit, and changes nothing'],
    ['sudo rosterd service install', 'the service reads /etc/rosterd/config.json'],
  ],
  options: [
    { flags: '--config <file>', summary: `configuration of the service (default: ${configUsual})` },
    { flags: '--root <folder>', summary: 'write the files below this folder, for an image' },
    { flags: '--dry-run', summary: 'print what would be done, and change nothing' },
    { flags: '--force', summary: 'replace files that differ' },
  ],
  async run(context) {
    const { io, out, options } = context;
    const { installService } = await import('../../tasks/install-service.js');
    const dryRun = options.flag('dryRun');
    const config = pathOption(context, 'config', '--config') ?? configUsual;
    const { steps, unit, warnings } = await installService({
      root: pathOption(context, 'root', '--root') ?? '/',
      config,
      command: [process.execPath, join(packageRoot, 'bin', 'rosterd.js')],
      dryRun,
      force: options.flag('force'),
      env: io.env,
    });
    for (const { kind, what } of steps) {
      if (kind === 'unchanged') out.line(`unchanged  ${what}`);
      else out.line(`${dryRun ? 'would ' : ''}${kind}  ${what}`);
    }
    if (dryRun) for (const line of ['', ...unit.trimEnd().split('\n')]) out.line(line);
    for (const warning of warnings) out.warn(warning);
    if (!dryRun) out.note(`Next: write ${config}, then systemctl enable --now rosterd`);
    return exitCodes.done;
  },
};
