import { readFileSync } from 'node:fs';

/**
 * Returns the peak memory of this process in megabytes. Linux hands `maxRSS` of the parent on to a child, so a process
 * that a larger one started would report its parent's; `VmHWM` begins with the program.
 */
export function peakMegabytes(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS / 1024;
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}
