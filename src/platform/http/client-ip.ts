import type { IncomingMessage } from 'node:http';

/**
 * Returns the client address for IP rate limits. X-Forwarded-For is trusted only from the configured proxies and read
 * from the right: the first address that is not a trusted proxy is the client. Addresses further left are ignored.
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
