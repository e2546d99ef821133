import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { compiledScript } from '../../../support/compiled-script.js';
import { tempFolder } from '../../temp-folder.js';

const script = fileURLToPath(new URL('./run-tool.ts', import.meta.url));

test.skipIf(process.platform === 'win32')(
  'a program of PostgreSQL that writes messages ends after its parent was killed',
  async () => {
    const pipe = join(tempFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    const parent = spawn(process.execPath, [await compiledScript(script), pipe], { stdio: 'ignore' });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const written = createReadStream(pipe, 'utf8');
    const [tool] = (await once(written, 'data')) as [string];
    let hasEnded = false;
    onTestFinished(() => {
      if (!hasEnded) process.kill(Number(tool), 'SIGKILL');
    });
    parent.kill('SIGKILL');
    // The pipe ends with the program, which alone has it open.
    await once(written, 'end');
    hasEnded = true;
    expect(parent.exitCode).toBeNull();
  },
);
