import type { IncomingMessage } from 'node:http';

/**
 * The address limits are counted by. X-Forwarded-For is believed only from proxies named in the options, and read
 * from the right: the first address that is not one of them is the client, whatever it claimed further left.
 */
export function clientIp(request: IncomingMessage, trusted: readonly string[]): string {
  const peer = plain(request.socket.remoteAddress ?? '');
  if (!trusted.includes(peer)) return peer;
  const header = request.headers['x-forwarded-for'];
  const hops = (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .map((hop) => plain(hop.trim()));
  for (const hop of hops.reverse()) if (hop !== '' && !trusted.includes(hop)) return hop;
  return peer;
}

const plain = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/, '');
