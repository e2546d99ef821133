import { keepHeapLean } from '../runtime/lean-heap.js';
import { runProcess } from './process.js';

/** The whole program: what this process was given, as arguments of one command. */
export async function runCommandLine(meant: (args: readonly string[]) => readonly string[]): Promise<void> {
  keepHeapLean();
  await runProcess(meant(process.argv.slice(2)));
}
