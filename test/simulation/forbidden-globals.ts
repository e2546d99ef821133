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
