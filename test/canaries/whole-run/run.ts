import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { judge } from './judge.js';

/*
 * npm run canaries:tests [-- FILES]: runs every test at debug level, then searches all logs, output and errors for
 * every invented person and every issued secret. Reports leaks by name, never by value.
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
process.stdout.write(`${known} people and secrets, ${said} lines of output, ${findings.length} leaks\n`);
process.exitCode = status === 0 && said > 0 && findings.length === 0 ? 0 : 1;
