/** Microseconds of the kernel's CLOCK_MONOTONIC, which every process of the machine reads the same. */
export function kernelMonotonicMicros(): bigint {
  return process.hrtime.bigint() / 1_000n;
}
