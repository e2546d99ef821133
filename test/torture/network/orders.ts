import { createInterface } from 'node:readline';
import type { Address, Direction, Weather } from './proxy.js';

export interface ForwardOrder {
  readonly name: string;
  readonly from: Address;
  readonly to: Address;
}

export interface WireOrder {
  readonly role: 'wire';
  readonly seed: number;
  readonly forwards: readonly ForwardOrder[];
}

export interface EdgeOrder {
  readonly role: 'edge';
  readonly seed: number;
  /** The proxies to the receivers, by host. */
  readonly forwards: readonly ForwardOrder[];
  /** Where other hosts reach the platform, and where it listens. */
  readonly platform: { readonly from: Address; readonly to: Address };
  readonly sender: Address;
  readonly noticeReceiver: Address;
  /** Files for deliveries, for the accepted ones and for notices that arrived, one JSON object a line. */
  readonly sent: string;
  readonly accepted: string;
  readonly notices: string;
}

export interface ReaderOrder {
  readonly role: 'reader';
  readonly seed: number;
  readonly forwards: readonly ForwardOrder[];
  readonly url: string;
  readonly file: string;
  readonly after: number;
}

export type Order = WireOrder | EdgeOrder | ReaderOrder | { readonly role: 'guard' };

/** What the director of the play says to a running process. */
export type Line =
  | { readonly op: 'weather'; readonly forward: string | null; readonly weather: Weather }
  | { readonly op: 'to'; readonly forward: string; readonly to: Address }
  | {
      readonly op: 'drop';
      readonly forward: string;
      readonly direction: Direction;
      readonly dropped: boolean;
    }
  | {
      readonly op: 'call';
      readonly id: number;
      readonly method: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string | null;
    }
  | { readonly op: 'process'; readonly pid: number; readonly start: string | null }
  | { readonly op: 'namespace'; readonly name: string }
  | { readonly op: 'folder'; readonly path: string }
  | { readonly op: 'released' };

export const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

/** Calls back for every line; resolves when the director is gone. */
export async function eachLine(use: (line: Line) => void): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) use(JSON.parse(line) as Line);
}
