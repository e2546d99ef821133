import { BlockList, isIP } from 'node:net';
import type { Request } from 'express';
import type { Role } from '../../domain/role.js';

/** Sign-in by a header that a reverse proxy sets. */
export interface ProxySignIn {
  /** The addresses of the proxy: single ones, or ranges such as 10.0.0.0/24. */
  readonly addresses: readonly string[];
  readonly header: string;
  readonly users: readonly { readonly name: string; readonly role: Role }[];
  /** The role of users that are not listed; null refuses them. */
  readonly role: Role | null;
}

export type ProxyUser =
  /** The request does not name a user. */
  | { readonly kind: 'none' }
  | { readonly kind: 'user'; readonly name: string; readonly role: Role }
  | { readonly kind: 'refused'; readonly why: string };

/** Printable, and without the comma with which a proxy joins two headers to one. */
const nameText = /^[\x21-\x2b\x2d-\x7e](?:[\x20-\x2b\x2d-\x7e]{0,198}[\x21-\x2b\x2d-\x7e])?$/;

/** Returns the check of a request for the user that the proxy names. Only the proxy's addresses may name one. */
export function proxyUsers({ addresses, header, users, role }: ProxySignIn): (request: Request) => ProxyUser {
  const proxies = new BlockList();
  for (const address of addresses) addTo(proxies, address);
  const roleOf = new Map(users.map((user) => [user.name, user.role]));
  const field = header.toLowerCase();
  return (request) => {
    const given = request.headersDistinct[field];
    if (given === undefined) return { kind: 'none' };
    if (!isListed(proxies, request.socket.remoteAddress ?? ''))
      return {
        kind: 'refused',
        why: 'only the proxy may name a user, and this request does not come from it',
      };
    const [name = '', ...more] = given;
    if (more.length > 0 || !nameText.test(name))
      return { kind: 'refused', why: 'the proxy has to name one user, once' };
    const allowed = roleOf.get(name) ?? role;
    return allowed === null
      ? { kind: 'refused', why: 'this user may not use the console' }
      : { kind: 'user', name, role: allowed };
  };
}

function addTo(list: BlockList, text: string): void {
  const [address = '', prefix] = text.split('/');
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (prefix === undefined) list.addAddress(address, family);
  else list.addSubnet(address, Number(prefix), family);
}

/** A listener on `::` reports the clients of IPv4 as ::ffff:192.0.2.1. */
function isListed(list: BlockList, peer: string): boolean {
  const address = peer.replace(/^::ffff:(?=\d+\.)/i, '');
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
}
