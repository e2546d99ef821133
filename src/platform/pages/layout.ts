import { createHash } from 'node:crypto';
import { Html, html } from '../../runtime/html.js';
import type { Reply } from '../http/exchange.js';
import { stylesheet } from './style.js';

export interface Page {
  readonly status?: number;
  readonly title: string;
  readonly body: Html;
  /** External redirect target of a form on this page. Browsers apply `form-action` to redirects too. */
  readonly leadsTo?: string;
  readonly cookie?: string;
  /** For pages with tables. Pages with a single question stay narrow. */
  readonly wide?: boolean;
  /** Additional CSS of this page. */
  readonly style?: string;
  /** Path of a script of this server. Pages without one work without scripts and forbid them. */
  readonly script?: string;
  /** Replaces the reminder to check the URL, on pages without a form. */
  readonly footer?: Html;
}

const reminder = html`Before you answer, look at the address of this page: is it the platform’s?`;

/** Renders a page: without inline scripts, never framed and never cached. */
export function pageReply(page: Page): Reply {
  const style = stylesheet + (page.style ?? '');
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${page.title}</title>
<style>${new Html(style)}</style>${
    page.script === undefined
      ? null
      : html`
<script src="${page.script}" defer></script>`
  }
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
      'content-security-policy': policy(style, page),
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
      ...cookieHeader(page.cookie),
    },
  };
}

function policy(style: string, { leadsTo, script }: Page): string {
  const styleDigest = createHash('sha256').update(style).digest('base64');
  return [
    `default-src 'none'`,
    `style-src 'sha256-${styleDigest}'`,
    ...(script === undefined ? [] : [`script-src 'self'`, `connect-src 'self'`]),
    `form-action 'self'${leadsTo === undefined ? '' : ` ${leadsTo}`}`,
    `base-uri 'none'`,
    `frame-ancestors 'none'`,
  ].join('; ');
}

/** Returns the CSP source of a URL: its origin, or only its scheme for an IPv6 literal or a private scheme. */
export function sourceOf(address: string): string {
  const url = new URL(address);
  return /^https?:$/.test(url.protocol) && !url.hostname.startsWith('[') ? url.origin : url.protocol;
}

/** Redirects after a form with a 303, so that the browser uses GET. */
export function seeOther(location: string, cookie?: string): Reply {
  return {
    status: 303,
    body: undefined,
    headers: { location: inHeader(location), 'referrer-policy': 'no-referrer', ...cookieHeader(cookie) },
  };
}

/** A header takes no letters outside ASCII. A URL without them stays as it is, byte for byte. */
const inHeader = (location: string): string =>
  /^[\x21-\x7e]*$/.test(location) ? location : (URL.parse(location)?.href ?? encodeURI(location));

function cookieHeader(cookie: string | undefined): Record<string, string> {
  return cookie === undefined ? {} : { 'set-cookie': cookie };
}
