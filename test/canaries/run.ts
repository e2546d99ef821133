import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { giveToOwnRole } from '../postgres/own-role.js';
import { startPostgres } from '../postgres/server.js';
import { readOptions } from '../support/options.js';
import { built, isBuilt, sources } from '../torture/life.js';
import { mayHold, playDay } from './scenario.js';
import { sweep } from './sweep.js';

readOptions({
  name: 'npm run canaries',
  about: `Runs a day at debug level, once on a file and once on a server, and reads every byte it left. Reports leaks by name,
never by value.`,
  options: {},
});
const program = isBuilt() ? built : sources;
const server = await startPostgres();
for (const [database, own] of [['SQLite'], ['PostgreSQL', await giveToOwnRole(server.url)]] as const) {
  const folder = mkdtempSync(join(tmpdir(), 'rosterd-canaries-'));
  const { canaries, said } = await playDay(folder, program, own);
  const leaks = sweep(folder, canaries, mayHold);
  for (const { file, what } of leaks) process.stdout.write(`${what} is in ${join(folder, file)}\n`);
  process.stdout.write(
    `${database}: ${canaries.length} canaries, ${said.length} outputs and responses, ${leaks.length} leaks\n`,
  );
  if (leaks.length === 0) rmSync(folder, { recursive: true });
  else process.exitCode = 1;
}
await server.close();
