/** p-queue reads the time for its rate limit, which is not used here: it gets a clock that stands still. */
const excepted = ['/node_modules/p-queue/'];

/**
 * While a run is active, reading the global clock or randomness throws. That keeps runs reproducible and exposes
 * code that ignores the injected clock.
 */
export function forbidGlobals(): () => void {
  const undo: (() => void)[] = [];
  const forbid = <Owner extends object>(owner: Owner, name: string, what: string) => {
    const descriptor = Object.getOwnPropertyDescriptor(owner, name);
    Object.defineProperty(owner, name, {
      configurable: true,
      writable: true,
      value: () => {
        const asker = callerFile();
        if (excepted.some((path) => asker.includes(path))) return 0;
        throw new Error(`${what} was used inside the simulation; pass it in as an argument`);
      },
    });
    undo.push(() => {
      if (descriptor === undefined) Reflect.deleteProperty(owner, name);
      else Object.defineProperty(owner, name, descriptor);
    });
  };
  forbid(Date, 'now', 'Date.now');
  forbid(Math, 'random', 'Math.random');
  forbid(performance, 'now', 'performance.now');
  forbid(globalThis.crypto, 'randomUUID', 'crypto.randomUUID');
  forbid(process, 'hrtime', 'process.hrtime');
  for (const name of ['setTimeout', 'setInterval', 'fetch']) forbid(globalThis, name, name);
  return () => {
    for (const back of undo.reverse()) back();
  };
}

/**
 * Returns the file that called the caller of this function. Reads the frames themselves, because formatting a
 * stack is far slower.
 */
function callerFile(): string {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = 3;
  Error.prepareStackTrace = (_error, frames) => frames[2]?.getFileName() ?? '';
  const file = String(new Error().stack);
  Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  return file;
}
