import { eachLine, type ForwardOrder, type Line, say, type WireOrder } from './orders.js';
import { calm, Forward } from './proxy.js';

/** The proxies of one host. */
export async function openForwards(
  orders: readonly ForwardOrder[],
  seed: number,
): Promise<Map<string, Forward>> {
  const forwards = new Map(
    orders.map(
      ({ name, from, to }, index) =>
        [name, new Forward(from, to, seed + index, name === 'platform')] as const,
    ),
  );
  await Promise.all([...forwards.values()].map((forward) => forward.listen()));
  return forwards;
}

/** Obeys a line about a proxy. */
export function direct(forwards: ReadonlyMap<string, Forward>, line: Line): void {
  if (line.op === 'weather') {
    for (const [name, forward] of forwards)
      if (line.forward === null || line.forward === name)
        forward.weather = { ...calm, ...definite(line.weather) };
  } else if (line.op === 'to') {
    const forward = forwards.get(line.forward);
    if (forward !== undefined) forward.to = line.to;
  } else if (line.op === 'drop') forwards.get(line.forward)?.drop(line.direction, line.dropped);
}

/** JSON has no infinity: an unlimited rate arrives as null. */
const definite = <Value extends object>(value: Value): Partial<Value> =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null)) as Partial<Value>;

export async function runWire({ forwards: orders, seed }: WireOrder): Promise<void> {
  const forwards = await openForwards(orders, seed);
  say({ ready: true });
  await eachLine((line) => direct(forwards, line));
  process.exit(0);
}
