import type { Exchange } from './exchange.js';

/** Returns the configured public URL, or else the host of this request. */
export function baseUrl(exchange: Exchange): string {
  const known = exchange.services.options.publicUrl;
  return known === null ? `http://${exchange.headers.host ?? 'localhost'}` : known.replace(/\/+$/, '');
}
