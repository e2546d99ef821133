import type { Host, Ways } from './plan.js';
import type { Address } from './proxy.js';

/** A port of a host: a server, or the proxy that leads to one. */
export type Service =
  | 'platform'
  | 'inner platform'
  | 'sender'
  | 'notice receiver'
  | 'database'
  | 'receiver'
  | 'wire platform'
  | 'wire database'
  | 'wire notice receiver'
  | 'wire a'
  | 'wire b'
  | 'wire c';

/** The machines of one run and the network between them. */
export interface Network {
  readonly kind: 'namespaces' | 'loopback';
  /** Returns the command that runs this one on a host. */
  on(host: Host, command: readonly string[]): readonly string[];
  /** The address of a service for the host itself, such as a proxy, or for the others. */
  address(host: Host, service: Service): Address;
  /** Starts or stops dropping all packets from one host to another. The sender gets no error. */
  block(from: Host, to: Host, blocked: boolean): Promise<void>;
  /** A machine that disappears without closing a connection: its cable is pulled, or its own routes are gone. */
  vanish(host: Host, how: 'unplugged' | 'no route', gone: boolean): Promise<void>;
  close(): Promise<void>;
}

/** Counts overlapping cuts of one pair, so that the end of one does not end another. */
export class Cuts {
  readonly #counts = new Map<string, number>();

  constructor(private readonly network: Network) {}

  async cut(from: Host, to: Host, ways: Ways, isCut: boolean): Promise<void> {
    if (ways !== 'back') await this.#one(from, to, isCut);
    if (ways !== 'there') await this.#one(to, from, isCut);
  }

  async #one(from: Host, to: Host, isCut: boolean): Promise<void> {
    const key = `${from}>${to}`;
    const before = this.#counts.get(key) ?? 0;
    const after = before + (isCut ? 1 : -1);
    this.#counts.set(key, after);
    if (before === 0 || after === 0) await this.network.block(from, to, isCut);
  }
}
