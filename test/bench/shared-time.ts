/**
 * Milliseconds of the system's monotonic clock, which all processes of one machine share; `performance.now()` starts
 * anew in each.
 */
export const sharedNow = (): number => Number(process.hrtime.bigint()) / 1e6;
