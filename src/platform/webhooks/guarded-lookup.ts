import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Target } from './url-policy.js';

/** All addresses of a name. Rejects when there are none. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export const systemResolve: Resolve = (host) => lookup(host, { all: true, verbatim: true });

/** Thrown into the connection attempt; the sender tells it from a name that does not resolve. */
export class BlockedAddress extends Error {}

type Answer = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/**
 * The one resolution of a connection attempt: every address is judged, and the socket is given the judged ones and
 * nothing else to connect to. Judging first and letting the socket resolve again is how rebinding works. One bad
 * address among good ones refuses the name: a resolver that mixes them is not to be trusted with either.
 */
export function guardedLookup(target: Target, resolve: Resolve) {
  return (host: string, options: LookupOptions, answer: Answer): void => {
    resolve(host).then(
      (found) => {
        const first = found[0];
        if (first === undefined) return answer(new Error('the name has no address'), []);
        if (!found.every((entry) => target.permits(entry.address))) return answer(new BlockedAddress(), []);
        if (options.all === true) return answer(null, [...found]);
        return answer(null, first.address, first.family);
      },
      (error: unknown) => answer(error instanceof Error ? error : new Error('lookup failed'), []),
    );
  };
}

/** Sockets do not look literals up, so a literal is judged before there is one. */
export function literalIsBlocked(target: Target): boolean {
  return isIP(target.host) !== 0 && !target.permits(target.host);
}
