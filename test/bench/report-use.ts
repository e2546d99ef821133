import { peakMegabytes } from './peak-memory.js';

/*
 * Loaded into a measured program before its own modules, with `--import`: answers each message with the processor time and
 * the peak memory of the program until then. It does not keep the program alive.
 */

export interface Use {
  readonly cpuSeconds: number;
  readonly peakMegabytes: number;
}

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const use: Use = { cpuSeconds: (user + system) / 1e6, peakMegabytes: peakMegabytes() };
  process.send?.(use);
});
process.channel?.unref();
