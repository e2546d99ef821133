import { freePort } from '../../support/free-port.js';
import type { Network, Service } from './network.js';
import { type Database, type Host, hosts } from './plan.js';
import type { Address, Direction } from './proxy.js';

const served: Readonly<Partial<Record<Host, readonly Service[]>>> = {
  ...Object.fromEntries(
    ['a', 'b', 'c'].map((host) => [
      host,
      ['receiver', 'wire platform', 'wire database', 'wire notice receiver'],
    ]),
  ),
  x: ['wire database'],
  y: ['wire database'],
  p: ['platform', 'inner platform', 'sender', 'notice receiver', 'wire a', 'wire b', 'wire c'],
  d1: ['database'],
  d2: ['database'],
};

export interface LoopbackParts {
  /** Makes the proxy of a host drop what it forwards in one direction. */
  readonly drop: (host: Host, forward: string, direction: Direction, dropped: boolean) => void;
  readonly primary: () => Database;
}

/** All hosts on 127.0.0.1, each with ports of its own; the proxies do what a network would. */
export async function openLoopback({ drop, primary }: LoopbackParts): Promise<Network & { apply(): void }> {
  const addresses = new Map<string, Address>();
  for (const host of hosts)
    for (const service of served[host] ?? [])
      addresses.set(`${host} ${service}`, { host: '127.0.0.1', port: await freePort() });
  const blocked = new Set<string>();
  const gone = new Set<Host>();
  const isDropped = (from: Host, to: Host) => gone.has(from) || gone.has(to) || blocked.has(`${from}>${to}`);
  const forwards = (): (readonly [Host, string, Host])[] => [
    ...(['a', 'b', 'c'] as const).flatMap(
      (host) =>
        [
          [host, 'platform', 'p'],
          [host, 'notice receiver', 'p'],
          [host, 'database', primary()],
          ['p', host, host],
        ] as const,
    ),
    ['x', 'database', primary()],
    ['y', 'database', primary()],
  ];
  const apply = () => {
    for (const [client, forward, server] of forwards()) {
      drop(client, forward, 'there', isDropped(client, server));
      drop(client, forward, 'back', isDropped(server, client));
    }
  };
  return {
    kind: 'loopback',
    on: (_, command) => command,
    address: (host, service) => {
      const address = addresses.get(`${host} ${service}`);
      if (address === undefined) throw new Error(`${host} has no ${service}`);
      return address;
    },
    block: async (from, to, isBlocked) => {
      if (isBlocked) blocked.add(`${from}>${to}`);
      else blocked.delete(`${from}>${to}`);
      apply();
    },
    vanish: async (host, _, isGone) => {
      if (isGone) gone.add(host);
      else gone.delete(host);
      apply();
    },
    apply,
    close: async () => {},
  };
}
