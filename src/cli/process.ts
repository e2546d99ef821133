import { systemClock } from '../runtime/clock.js';
import type { Io } from './io.js';
import { run } from './run.js';

const processIo: Io = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  clock: systemClock,
  onSignal(signal, listener) {
    process.on(signal, listener);
    return () => process.off(signal, listener);
  },
  quit: (code) => process.exit(code),
};

/** The code is left for Node to exit with, so that everything written to a slow pipe still arrives. */
export async function runProcess(args: readonly string[]): Promise<void> {
  process.exitCode = await run(args, processIo);
}
