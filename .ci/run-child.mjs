import { spawn } from 'node:child_process';

/** Runs a program whose output goes to our stderr and waits for its end; rejects if it fails. */
export function run(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 2, 2], ...options });
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`${program} ${args.join(' ')} ended with ${signal ?? code}`)),
    );
  });
}
