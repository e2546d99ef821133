import { rmSync } from 'node:fs';
import { removeNamespaces, startOf } from './namespaces.js';
import { eachLine } from './orders.js';

/**
 * Waits until the run that started it ends, however it ends, and removes what it left: processes, namespaces and
 * folders. A run that cleaned up by itself releases it.
 */
export async function runGuard(): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
  const processes: { readonly pid: number; readonly start: string | null }[] = [];
  const namespaces: string[] = [];
  const folders: string[] = [];
  let released = false;
  await eachLine((line) => {
    if (line.op === 'process') processes.push(line);
    else if (line.op === 'namespace') namespaces.push(line.name);
    else if (line.op === 'folder') folders.push(line.path);
    else if (line.op === 'released') released = true;
  });
  if (!released) {
    for (const { pid, start } of processes)
      if (start !== null && startOf(pid) === start)
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It ended by itself.
        }
    await removeNamespaces([...namespaces]);
    for (const path of folders) rmSync(path, { recursive: true, force: true });
  }
  process.exit(0);
}
