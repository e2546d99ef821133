const { setTimeout } = globalThis;

/** Runs the work at once, or after the milliseconds. */
export type Later = (millis: number, work: () => void) => void;

/** Runs what comes later for one stream in the order in which it came: work also waits for earlier work. */
export function inOrder(): Later {
  const waiting: { ready: boolean; readonly work: () => void }[] = [];
  const drain = () => {
    while (waiting[0]?.ready === true) waiting.shift()?.work();
  };
  return (millis, work) => {
    if (millis === 0 && waiting.length === 0) return work();
    const entry = { ready: millis === 0, work };
    waiting.push(entry);
    if (millis > 0)
      setTimeout(() => {
        entry.ready = true;
        drain();
      }, millis);
  };
}

const known = new WeakMap<object, Later>();

/** Returns the order of an object, such as a socket: the same each time. */
export function orderOf(owner: object): Later {
  const order = known.get(owner) ?? inOrder();
  known.set(owner, order);
  return order;
}

/** Lets what comes through several objects keep one order. */
export function shareOrder(owners: readonly object[]): void {
  const order = inOrder();
  for (const owner of owners) known.set(owner, order);
}
