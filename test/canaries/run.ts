import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { built, isBuilt, sources } from '../torture/life.js';
import { mayHold, playDay } from './scenario.js';
import { sweep } from './sweep.js';

/* npm run canaries: plays a day at debug level and reads every byte it left; names leaks, never what leaked. */
const folder = mkdtempSync(join(tmpdir(), 'rosterd-canaries-'));
const { canaries, said } = await playDay(folder, isBuilt() ? built : sources);
const leaks = sweep(folder, canaries, mayHold);
for (const { file, what } of leaks) process.stdout.write(`${what} stands in ${join(folder, file)}\n`);
process.stdout.write(
  `${canaries.length} canaries, ${said.length} outputs and answers, ${leaks.length} leaks\n`,
);
if (leaks.length === 0) rmSync(folder, { recursive: true });
process.exitCode = leaks.length === 0 ? 0 : 1;
