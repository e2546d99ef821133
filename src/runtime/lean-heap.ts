import { setFlagsFromString } from 'node:v8';

/**
 * Clears the heap of this process whenever it has grown by three fifths. Left alone, V8 clears one of which 20 MB are
 * alive at 27 MB or only at 85, as its estimates go: listing a million records again took anything from 182 to 246 MB at
 * its peak. With this it is 186 to 189, as fast. For whoever owns the process, not for a library.
 */
export function keepHeapLean(): void {
  setFlagsFromString('--heap-growing-percent=60');
}
