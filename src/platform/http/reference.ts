import { paths } from '../../wire/paths.js';
import { baseUrl } from './base-url.js';
import type { Exchange } from './exchange.js';

/** The operations of the sandbox's control API and start page, which the API reference leaves out. */
export const controlTag = 'Sandbox';

/** Returns the address of the section of the API reference about a request, or null when it has none. */
export function referenceFor(exchange: Exchange): string | null {
  const { operation } = exchange;
  const page = `${baseUrl(exchange)}${paths.docs}`;
  if (operation === null) return page;
  return operation.tag === controlTag ? null : `${page}#${operation.id}`;
}
