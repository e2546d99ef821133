import type { Exchange } from './exchange.js';

/** The address the server is known by; without one, the address this caller reached it at. */
export function baseUrl(exchange: Exchange): string {
  const known = exchange.services.options.publicUrl;
  return known === null ? `http://${exchange.headers.host ?? 'localhost'}` : known.replace(/\/+$/, '');
}
