import { Worker } from 'node:worker_threads';

/** A signal that writes no core file and that no other program sends. */
const tooLarge = 'SIGUSR2';
/** Check interval; a process can allocate some tens of megabytes in this time. */
const lookMillis = 10;

/**
 * Ends this process when it uses more memory than this, or when its parent has ended. A second thread checks, because the
 * main thread may be inside a library call, where it does not notice that the channel to the parent was closed. Limits of
 * the operating system are unsuitable: they count memory that V8 reserves without using, which differs greatly between
 * versions of Node.
 */
export function endWhenLargerOrOrphaned(megabytes: number): void {
  const look = `
    const { workerData } = require('node:worker_threads');
    setInterval(() => {
      if (process.memoryUsage.rss() > workerData.bytes) process.kill(process.pid, workerData.signal);
      if (process.ppid !== workerData.parent) process.kill(process.pid, 'SIGKILL');
    }, workerData.millis);`;
  const workerData = {
    bytes: megabytes * 1_048_576,
    parent: process.ppid,
    signal: tooLarge,
    millis: lookMillis,
  };
  // The watcher needs no TypeScript loader and almost no heap.
  const limits = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 };
  const watcher = new Worker(look, { eval: true, workerData, execArgv: [], resourceLimits: limits });
  watcher.unref();
  watcher.on('error', () => {});
}
