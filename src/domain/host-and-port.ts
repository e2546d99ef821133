/** Returns HOST:PORT as an address has it: an IPv6 address in brackets. */
export const hostAndPort = (host: string, port: number | string): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;
