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
  endsBySignals: process.pid !== 1,
  quit: (code) => process.exit(code),
};

/** Sets the exit code but does not exit, so that Node first flushes output to a slow pipe. */
export async function runProcess(args: readonly string[]): Promise<void> {
  process.exitCode = await run(args, processIo);
}
