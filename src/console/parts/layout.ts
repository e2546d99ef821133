import { roleMay } from '../../domain/role.js';
import { type Html, html } from '../../runtime/html.js';
import type { Actor } from '../ports/operations.js';

export interface PageFrame {
  /** Names the platform that is mirrored. */
  readonly mirrorOf: string;
  /** The CSRF token of this browser's forms; null on pages before the sign-in. */
  readonly csrf: string | null;
  /** Who sees the page; null before the sign-in. */
  readonly actor: Actor | null;
  /** Shows the sign-out button. */
  readonly signedIn: boolean;
  readonly version: string;
}

export interface Page {
  readonly title: string;
  /** The navigation link to highlight. */
  readonly place?: Place;
  readonly body: Html;
  readonly scripts?: readonly ('live' | 'charts' | 'query')[];
}

const places = {
  '/': 'Overview',
  '/companies': 'Companies',
  '/roster': 'Roster',
  '/sources': 'Sources',
  '/sql': 'SQL',
  '/operations': 'Operations',
} as const;
/** Shown to operators only. */
const operatorPlaces = { '/actions': 'Actions', '/audit': 'Audit' } as const;
export type Place = keyof typeof places | keyof typeof operatorPlaces;

/** Scripts of every page: times of the reader's zone, copied ids, and words while a page loads. */
const everywhere = ['times', 'ids', 'pending'] as const;

export function pageText(frame: PageFrame, { title, place, body, scripts = [] }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · rosterd</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
${scripts.includes('charts') ? html`<link rel="stylesheet" href="/assets/uplot.css">` : null}
<link rel="stylesheet" href="/assets/console.css">
${scripts.includes('query') ? html`<link rel="stylesheet" href="/assets/sql.css">` : null}
${[...everywhere, ...scripts].map((name) => html`<script type="module" src="/assets/${name}.js"></script>`)}
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<div class="inner">
<a class="mark" href="/"><svg width="20" height="20" viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d="M3 5h14M3 10h9M3 15h5" stroke="currentColor" stroke-width="2.5" stroke-linecap="round"/></svg>rosterd</a>
${frame.csrf === null ? null : navigation(place, frame.actor)}
${frame.signedIn ? signOut(frame.csrf ?? '') : null}
</div>
</header>
<main id="main" tabindex="-1">${body}</main>
<footer>A copy of ${frame.mirrorOf} · rosterd ${frame.version} · <span data-zone>all times are UTC</span>${who(frame.actor)}</footer>
</body>
</html>
`.text;
}

function navigation(current: Place | undefined, actor: Actor | null): Html {
  const shown = actor !== null && roleMay(actor.role, 'act') ? { ...places, ...operatorPlaces } : places;
  return html`<nav aria-label="Pages"><ul>${Object.entries(shown).map(
    ([path, name]) =>
      html`<li><a href="${path}"${path === current ? html` aria-current="page"` : null}>${name}</a></li>`,
  )}</ul></nav>`;
}

const who = (actor: Actor | null): Html | null =>
  actor === null ? null : html` · you are ${actor.name} (${actor.role})`;

const signOut = (csrf: string): Html =>
  html`<form method="post" action="/sign-out">${csrfField(csrf)}<button class="quiet">Sign out</button></form>`;

export const csrfField = (csrf: string): Html => html`<input type="hidden" name="csrf" value="${csrf}">`;
