import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judge } from './judge.js';

/*
 * npm run canaries:tests [-- FILES]: every test at debug level, and then a look at all that logs, commands and errors
 * said meanwhile, for everybody who was invented and every secret that was given. Names leaks, never what leaked.
 */
const folder = mkdtempSync(join(tmpdir(), 'rosterd-canaries-'));
const config = join(import.meta.dirname, 'vitest.config.ts');
const { status } = spawnSync('npx', ['vitest', 'run', '--config', config, ...process.argv.slice(2)], {
  env: { ...process.env, CANARY_FOLDER: folder },
  stdio: 'inherit',
});
const { said, known, findings } = await judge(folder);
rmSync(folder, { recursive: true, force: true });
for (const { what, way, test, text } of findings)
  process.stdout.write(`${what} in ${way} of ${test}\n    ${text.trim()}\n`);
process.stdout.write(`${known} people and secrets, ${said} lines said, ${findings.length} leaks\n`);
process.exitCode = status === 0 && said > 0 && findings.length === 0 ? 0 : 1;
