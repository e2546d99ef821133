import { isIP } from 'node:net';

/**
 * Returns a check of the Host header against DNS rebinding: another site can point its own name at this machine and send
 * requests through a user's browser, but the Host header then has that name. An IP address cannot be rebound.
 */
export function hostCheck(
  openToOthers: boolean,
  names: readonly string[],
): (host: string | undefined) => boolean {
  const known = new Set(names.map((name) => name.toLowerCase()));
  return (header) => {
    const host = bareHost(header ?? '').toLowerCase();
    if (isLoopbackHost(host) || known.has(host)) return true;
    return openToOthers && isIP(host) !== 0;
  };
}

function bareHost(header: string): string {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/.exec(header);
  return match?.[1] ?? match?.[2] ?? '';
}

export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
