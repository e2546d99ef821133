import { createHash } from 'node:crypto';
import type { Reply } from '../http/exchange.js';
import { Html, html } from './html.js';
import { stylesheet } from './style.js';

export interface Page {
  readonly status?: number;
  readonly title: string;
  readonly body: Html;
  /** Where a form of this page may lead, beside this server: browsers check the redirect after a form too. */
  readonly leadsTo?: string;
  readonly cookie?: string;
  /** For tables; a page that asks one question stays narrow. */
  readonly wide?: boolean;
  /** Rules of this page alone, after those of all pages. */
  readonly style?: string;
  /** In place of the reminder to look at the address, on pages that ask for no answer. */
  readonly footer?: Html;
}

const reminder = html`Before you answer, look at the address of this page: is it the platform’s?`;

/** Every page of the platform: server-rendered, without script, never framed, never kept. */
export function pageReply(page: Page): Reply {
  const style = stylesheet + (page.style ?? '');
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}</title>
<style>${new Html(style)}</style>
</head>
<body${page.wide === true ? html` class="wide"` : null}>
<main>${page.body}</main>
<footer>${page.footer ?? reminder}</footer>
</body>
</html>
`;
  return {
    status: page.status ?? 200,
    body: document.text,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy(style, page.leadsTo),
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
      ...cookieHeader(page.cookie),
    },
  };
}

function policy(style: string, leadsTo: string | undefined): string {
  const styleDigest = createHash('sha256').update(style).digest('base64');
  return [
    `default-src 'none'`,
    `style-src 'sha256-${styleDigest}'`,
    `form-action 'self'${leadsTo === undefined ? '' : ` ${leadsTo}`}`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ');
}

/** A policy source for an address; a host it cannot spell (an IPv6 literal) or a private scheme goes by scheme. */
export function sourceOf(address: string): string {
  const url = new URL(address);
  return /^https?:$/.test(url.protocol) && !url.hostname.startsWith('[') ? url.origin : url.protocol;
}

/** To another address after a form: the browser fetches it with GET. */
export function seeOther(location: string, cookie?: string): Reply {
  return {
    status: 303,
    body: undefined,
    headers: { location, 'referrer-policy': 'no-referrer', ...cookieHeader(cookie) },
  };
}

function cookieHeader(cookie: string | undefined): Record<string, string> {
  return cookie === undefined ? {} : { 'set-cookie': cookie };
}
