import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listenFault } from '../daemon/listen-fault.js';
import { Fault } from '../domain/fault.js';
import { ConnectionTable } from '../runtime/connection-table.js';
import { escapeHtml } from '../runtime/html.js';
import type { Closable } from '../runtime/lifecycle.js';

/** A loopback address, its port and the rest: only the port may differ from the registered redirect URI. */
const loopback = /^(http:\/\/(127\.0\.0\.1|\[::1\]|localhost))(?::(\d{1,5}))?((?:[/?].*)?)$/;

export function isLoopbackRedirect(uri: string): boolean {
  return loopback.test(uri);
}

/** Any page or program of this machine can open connections; the limits keep some free for the returning browser. */
const connectionLimits = { connections: 16, perAddress: 16, bytes: Number.POSITIVE_INFINITY };

export interface RedirectListener extends Closable {
  /** The redirect URI with the port that was bound. */
  readonly redirectUri: string;
  /** The first redirect that belongs to this sign-in; the listener accepts no other. */
  readonly arrived: Promise<URLSearchParams>;
}

/**
 * Listens on this machine for the browser's redirect. It accepts one GET request, on its own path and host name, with
 * the `state` of this sign-in. Every other request is rejected without effect, because any web page can send a browser
 * here, and anyone can own a host name that resolves to this machine.
 */
export async function listenForRedirect(
  registered: string,
  isOurs: (query: URLSearchParams) => boolean,
): Promise<RedirectListener> {
  const [, origin = '', hostname = '', port = '0', rest = ''] = loopback.exec(registered) ?? [];
  const host = hostname.replace(/^\[|\]$/g, '');
  let expected = '';
  let take: (query: URLSearchParams) => void = () => {};
  const arrived = new Promise<URLSearchParams>((resolve) => {
    take = resolve;
  });
  let taken = false;

  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000 });
  new ConnectionTable(connectionLimits).serve(server, (request, response) => {
    const query = queryOf(request, expected);
    if (taken || query === undefined) return reply(response, taken ? 410 : 404, refusals.stranger);
    if (!isOurs(query)) return reply(response, 400, refusals.foreignState);
    taken = true;
    // The page is sent completely before the caller closes the listener.
    response.once('close', () => take(query));
    reply(response, 200, query.has('error') ? endings.denied : endings.done);
    server.close();
  });
  await listen(server, host, Number(port));
  const bound = (server.address() as AddressInfo).port;
  const redirectUri = `${origin}:${bound}${rest}`;
  expected = redirectUri;
  return {
    redirectUri,
    arrived,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Page {
  readonly title: string;
  readonly text: string;
}

const endings = {
  done: { title: 'Signed in', text: 'You can close this window; rosterd goes on in the terminal.' },
  denied: { title: 'Not signed in', text: 'Nothing was shared. The terminal says how to start again.' },
} as const;

const refusals = {
  stranger: {
    title: 'Nothing here',
    text: 'This address waits for the end of a sign-in, and this was none.',
  },
  foreignState: {
    title: 'Not our sign-in',
    text: 'This answer belongs to another sign-in. Use the newest link rosterd printed.',
  },
} as const;

/** Returns the page shown at the end of a sign-in. It loads nothing, runs no script and is not cached. */
export function redirectPage(title: string, text: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escapeHtml(title)}</title>
<style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;color-scheme:light dark}</style>
<h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p></html>
`;
}

const redirectPageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
} as const;

function reply(response: ServerResponse, status: number, { title, text }: Page): void {
  response.writeHead(status, redirectPageHeaders).end(redirectPage(title, text));
}

/** Returns the query; undefined unless method, host header and path are those of the redirect URI. */
function queryOf(request: IncomingMessage, redirectUri: string): URLSearchParams | undefined {
  const wanted = new URL(redirectUri);
  if (request.method !== 'GET' || request.headers.host !== wanted.host) return undefined;
  const target = request.url ?? '';
  const url = target.startsWith('/') ? URL.parse(target, wanted.origin) : null;
  return url?.origin === wanted.origin && url.pathname === wanted.pathname ? url.searchParams : undefined;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const fault = listenFault(error, 'platform.application.redirectUri', { host, port });
      reject(fault instanceof Fault ? fault : error);
    });
    server.listen(port, host, () => resolve());
  });
}
