import { keepHeapLean } from '../runtime/lean-heap.js';
import { runProcess } from './process.js';

/** Runs the command that this process's arguments name. `meant` may rewrite the arguments first. */
export async function runCommandLine(meant: (args: readonly string[]) => readonly string[]): Promise<void> {
  keepHeapLean();
  await runProcess(meant(process.argv.slice(2)));
}
