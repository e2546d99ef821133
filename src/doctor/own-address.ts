import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Returns whether a program on this machine can listen on an address. Of a name, it does not decide: it returns true. */
export function isOwnAddress(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return true;
  const own = new BlockList();
  own.addSubnet('127.0.0.0', 8, 'ipv4');
  for (const address of ['0.0.0.0', '::', ...localAddresses()])
    own.addAddress(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
  return own.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** Without link-local addresses, which nothing can listen on without the name of an interface. */
const localAddresses = (): readonly string[] =>
  Object.values(networkInterfaces())
    .flatMap((of) => of ?? [])
    .filter((one) => one.family === 'IPv4' || one.scopeid === 0)
    .map(({ address }) => address);
