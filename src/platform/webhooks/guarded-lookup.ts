import type { LookupAddress, LookupOptions } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Target } from './url-policy.js';

/** Resolves a name to all its addresses. Rejects when there are none. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

export const systemResolve: Resolve = (host) => lookup(host, { all: true, verbatim: true });

/** Fails the connection attempt. The sender distinguishes it from a name that does not resolve. */
export class BlockedAddress extends Error {}

type Answer = (error: Error | null, address: string | LookupAddress[], family?: number) => void;

/**
 * Resolves the name once per connection attempt, checks every address, and passes only checked addresses to the socket.
 * If the socket resolved the name again, DNS rebinding would be possible. One blocked address blocks the name, because a
 * resolver that mixes public and private addresses is not trusted.
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

/** Sockets do not call lookup for IP literals, so a literal is checked before connecting. */
export function literalIsBlocked(target: Target): boolean {
  return isIP(target.host) !== 0 && !target.permits(target.host);
}
