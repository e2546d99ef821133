/**
 * Runs work that blocks the event loop for seconds or minutes. No listener would run meanwhile, so a signal ends the
 * process at once.
 */
export type Blocking = <Result>(work: () => Promise<Result>) => Promise<Result>;
