import { counted } from '../../domain/counted.js';
import { type Command, configOptions, jsonOption } from '../command.js';
import { configOf } from '../config-options.js';
import { exitCodes } from '../exit-codes.js';

export const vaultStatus: Command = {
  name: 'vault status',
  summary: 'Count the secrets that rosterd keeps, by kind and by encryption key',
  examples: [
    ['rosterd vault status', 'exit code 1 if an entry is encrypted with a key that is not listed'],
    ['rosterd vault status --json', 'the same for a program; never contains a secret or a key'],
  ],
  options: [...configOptions, jsonOption],
  async run(context) {
    const { io, out, options } = context;
    const { config } = await configOf(context);
    const { vaultReport } = await import('../../tasks/vault.js');
    const report = await vaultReport(config, io.clock);
    if (options.flag('json')) out.json(report);
    else {
      const where = report.folder ?? 'PostgreSQL, encrypted';
      out.line(`${counted(report.entries, 'secret')} in ${where}`);
      if (report.kinds.length > 0)
        out.table(
          [{ title: 'KIND' }, { title: 'ENTRIES' }],
          report.kinds.map(({ kind, entries }) => [kind, String(entries)]),
        );
      if (report.keys.length > 0)
        out.table(
          [{ title: 'KEY' }, { title: 'ROLE' }, { title: 'ENTRIES' }],
          report.keys.map(({ id, role, entries }) => [id, role, String(entries)]),
        );
    }
    const missing = report.keys.filter(({ role }) => role === 'missing');
    for (const { id } of missing)
      out.warn(
        `key ${id} is not listed in vault.keys: add it, or remove its entries, which rosterd vault rotate names`,
      );
    return missing.length === 0 ? exitCodes.done : exitCodes.failed;
  },
};
