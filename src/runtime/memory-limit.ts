import { Worker } from 'node:worker_threads';

/** No core is written for it, and nobody else sends it. */
const tooLarge = 'SIGUSR2';
/** In that time memory is filled with some tens of megabytes. */
const lookMillis = 10;

/**
 * Ends this process once it takes more memory than that, although its own thread may be deep in a library: a second
 * thread looks. Limits of the operating system do not serve: they count what the engine reserves and never uses, which
 * is a gigabyte in some versions of Node and little in others.
 */
export function endWhenLarger(megabytes: number): void {
  const look = `
    const { workerData } = require('node:worker_threads');
    setInterval(() => {
      if (process.memoryUsage.rss() > workerData.bytes) process.kill(process.pid, workerData.signal);
    }, workerData.millis);`;
  const workerData = { bytes: megabytes * 1_048_576, signal: tooLarge, millis: lookMillis };
  // Without the loader of the sources, which it has no use for, and with next to no heap of its own.
  const limits = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1 };
  const watcher = new Worker(look, { eval: true, workerData, execArgv: [], resourceLimits: limits });
  watcher.unref();
  watcher.on('error', () => {});
}
