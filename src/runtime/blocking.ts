/**
 * Runs work that blocks the event loop for seconds or minutes. No listener would run meanwhile, so a signal ends the
 * process at once. Look at the command's signal in the work: one may have arrived just before.
 */
export type Blocking = <Result>(work: () => Promise<Result>) => Promise<Result>;
