/** Returns the kernel's CLOCK_MONOTONIC in microseconds, which is the same for every process on the machine. */
export function kernelMonotonicMicros(): bigint {
  return process.hrtime.bigint() / 1_000n;
}
