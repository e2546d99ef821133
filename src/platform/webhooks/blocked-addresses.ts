import { BlockList, isIP } from 'node:net';

/** IPv4 ranges outside the public internet (IANA special-purpose registry), and two addresses internal to clouds. */
const blockedV4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10], // carrier-grade NAT, and one cloud's metadata service
  ['127.0.0.0', 8],
  ['168.63.129.16', 32], // a public address that is one cloud's host agent
  ['169.254.0.0', 16], // link-local, and most clouds' metadata service
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4], // reserved, and the broadcast address
];

/**
 * For IPv6 only global unicast is allowed, which excludes loopback, mapped and compatible IPv4, NAT64, unique-local,
 * link-local, site-local and multicast. `blockedV6` lists the exceptions within it.
 */
const globalUnicast: readonly [string, number] = ['2000::', 3];
const blockedV6: readonly (readonly [string, number])[] = [
  ['2001::', 23], // Teredo, ORCHID, benchmarking
  ['2001:db8::', 32],
  ['2002::', 16], // 6to4 carries any IPv4 address
  ['3fff::', 20],
];

const blocked = new BlockList();
for (const [net, prefix] of blockedV4) blocked.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of blockedV6) blocked.addSubnet(net, prefix, 'ipv6');
const open = new BlockList();
open.addSubnet(...globalUnicast, 'ipv6');
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');

/** Returns whether an address is public. Text that is not an IP address is not public. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !blocked.check(address, 'ipv4');
    case 6:
      // A zone id names a network interface of this machine.
      return !address.includes('%') && open.check(address, 'ipv6') && !blocked.check(address, 'ipv6');
    default:
      return false;
  }
}

/** Returns whether an address is loopback. Other IPv6 forms that map to loopback are not accepted. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || (isIP(address) === 4 && loopback.check(address, 'ipv4'));
}
