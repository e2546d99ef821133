import { type Html, html } from '../../../runtime/html.js';
import { paths } from '../../../wire/paths.js';
import type { Reply } from '../../http/exchange.js';
import { installLinkPath } from '../../installations/install-link.js';
import { pageReply } from '../../pages/layout.js';
import { cookieOf, csrfField, signedIn } from '../../pages/parts.js';
import type { Visit } from '../../pages/visit.js';
import type { WorldApp, WorldCompany, WorldDocument, WorldSyndicate } from '../document.js';
import { controlPath } from '../requests.js';
import { consentLink, examples } from './examples.js';
import { clockPart, faultsPart, type LiveState, logPart } from './live-parts.js';
import { startStyle } from './style.js';

export const scriptPath = `${controlPath}/start.js`;

/** Buttons of the clock, by seconds. */
export const clockSteps: Readonly<Record<string, string>> = {
  3600: 'An hour',
  86400: 'A day',
  7776000: '90 days',
};

export interface StartView {
  readonly base: string;
  readonly world: WorldDocument;
  readonly visit: Visit;
  readonly live: LiveState;
  /** Returns whether a token is valid now. */
  standing(token: string): Standing;
  /** Returns whether a refresh token is valid and was not used yet. */
  isFresh(refreshToken: string): boolean;
  readonly problem: string | null;
  readonly status: number;
}

export type Standing = 'valid' | 'expired' | 'revoked' | 'unknown';

/** A longer list does not help. The ready document has all. */
const peopleMax = 12;
const companiesMax = 5;

export function startPage(view: StartView): Reply {
  const { visit, problem, status, live } = view;
  return pageReply({
    status,
    title: 'Sandbox',
    wide: true,
    style: startStyle,
    script: scriptPath,
    footer: html`Served to this machine and to those who may use the control API.`,
    body: html`<h1>A sandbox of the platform</h1>
<p class="lead">This server answers every path of the API with invented people and companies. It contains no real record. The tokens below are valid only here.</p>
${problem === null ? null : html`<p class="bad" role="alert">${problem}</p>`}
<nav aria-label="Pages"><ul class="links"><li><a href="${paths.docs}">API reference</a></li><li><a href="${paths.portal}">Developer portal</a></li><li><a href="${paths.apiDescription}">OpenAPI document</a></li><li><a href="${controlPath}">Ready document (JSON)</a></li></ul></nav>
<div class="start"><div>${people(view)}</div><div>${pages(view)}
<section aria-labelledby="clock-title"><h2 id="clock-title">Clock</h2>${clockPart(live)}
<form method="post" action="/">${csrfField(visit)}<input type="hidden" name="action" value="advance"><div class="actions">${Object.entries(clockSteps).map(([seconds, label]) => html`<button name="seconds" value="${seconds}">${label} later</button>`)}</div></form></section>
<section aria-labelledby="faults-title"><h2 id="faults-title">Faults in force</h2>${faultsPart(live)}
<div class="actions">${button(visit, 'clear_faults', 'Clear the faults')}${button(visit, 'reset', 'Return to the seed')}</div></section></div></div>
<section aria-labelledby="log-title"><h2 id="log-title">Last requests and deliveries</h2><p class="soft" id="live-state" role="status">Reload the page to see new entries.</p>${logPart(live)}</section>
${curl(view)}
${tokens(view)}`,
    ...cookieOf(visit),
  });
}

const button = (visit: Visit, action: string, label: string): Html =>
  html`<form method="post" action="/">${csrfField(visit)}<button name="action" value="${action}">${label}</button></form>`;

function people({ visit, world }: StartView): Html {
  const shown = world.users.slice(0, peopleMax);
  return html`<section aria-labelledby="people-title"><h2 id="people-title">People</h2>
${visit.user === null ? html`<p class="soft">Choose a person to sign in. The portal and the other pages then know you.</p>` : signedIn(visit, visit.user)}
<form method="post" action="/">${csrfField(visit)}<input type="hidden" name="action" value="sign_in">${shown.map((person) => html`<button class="row" name="email" value="${person.email}"><strong>${person.name}</strong><span class="soft">${person.email}</span></button>`)}</form>
${rest(shown.length, world.users.length, 'people')}</section>`;
}

const rest = (shown: number, all: number, what: string): Html | null =>
  shown === all
    ? null
    : html`<p class="soft">${shown} of ${all} ${what}. The <a href="${controlPath}">ready document</a> has all.</p>`;

function pages({ visit, world }: StartView): Html {
  const consent = consentLink(world);
  return html`<section aria-labelledby="pages-title"><h2 id="pages-title">Pages for your users</h2>
${
  consent === null
    ? null
    : html`<ul class="links"><li><a href="${consent}">Consent page</a></li><li><a href="${installLinkPath(world.apps[0]?.clientId ?? '')}">Install page for founders</a></li></ul>
<p class="soft">Your application gets the answer at <code>${world.apps[0]?.redirectUri ?? ''}</code>.</p>`
}
<div class="actions">${button(visit, 'open_checkout', 'Open a checkout')}${button(visit, 'open_review', 'Open a review')}</div>
<p class="soft">Each button calls the API as an application does, then opens the page that the response names. Sign in there as ${world.users.at(-1)?.name ?? 'an investor'}.</p></section>`;
}

function curl({ base, world, standing, isFresh }: StartView): Html {
  const usable = { isValid: (token: string) => standing(token) === 'valid', isFresh };
  const items = examples(base, world, usable).map(
    ({ what, line }, index) =>
      html`<li><span class="what">${what}</span><pre id="curl-${index}">${line}</pre>${copyButton(`curl-${index}`, what)}</li>`,
  );
  return html`<section aria-labelledby="curl-title"><h2 id="curl-title">Commands to paste</h2><ul class="copy">${items}</ul></section>`;
}

/** Shown by the script only: without it, the button could do nothing. */
const copyButton = (id: string, what: string): Html =>
  html`<button type="button" data-copy="${id}" aria-label="Copy: ${what}" hidden>Copy</button>`;

interface Secret {
  readonly what: string;
  readonly text: string;
}

function tokens(view: StartView): Html {
  const { companies, syndicates, users, apps, live, attribution } = view.world;
  const people = users.slice(0, peopleMax);
  const groups: readonly (readonly [string, readonly Secret[]])[] = [
    ['Companies and syndicates', [...ofCompanies(companies), ...ofSyndicates(syndicates)]],
    ['People', people.map(({ name, token }) => ({ what: name, text: token }))],
    ['Applications', [...apps, attribution.app].flatMap(ofApplication)],
    ['Attribution program', [{ what: 'Installation', text: attribution.token }]],
    [
      'Live realm',
      [
        ...ofCompanies(live.companies),
        ...ofSyndicates(live.syndicates),
        ...people.map(({ name, liveToken }) => ({ what: name, text: liveToken })),
      ],
    ],
  ];
  const shown = groups.map(
    ([title, secrets], group) =>
      html`<details${group === 0 ? html` open` : null}><summary>${title}</summary><ul class="copy">${secrets.map((secret, index) => secretItem(view, secret, `token-${group}-${index}`))}</ul></details>`,
  );
  return html`<section aria-labelledby="tokens-title"><h2 id="tokens-title">Tokens</h2>
<p class="soft">A token of a person expires after two hours of the clock above. Tokens of installations do not expire.</p>${shown}
${rest(Math.min(companies.length, companiesMax), companies.length, 'companies')}</section>`;
}

function secretItem({ standing }: StartView, { what, text }: Secret, id: string): Html {
  const state = text.startsWith('at_') ? standing(text) : 'valid';
  return html`<li><span class="what">${what}${state === 'valid' ? null : html` <span class="pill wrong">${state}</span>`}</span><code id="${id}">${text}</code>${copyButton(id, what)}</li>`;
}

const ofCompanies = (companies: readonly WorldCompany[]): readonly Secret[] =>
  companies.slice(0, companiesMax).flatMap((company) => [
    { what: `${company.name}, with names`, text: company.token },
    { what: `${company.name}, without names`, text: company.tokenWithoutIdentity },
  ]);

const ofSyndicates = (syndicates: readonly WorldSyndicate[]): readonly Secret[] =>
  syndicates.slice(0, companiesMax).flatMap(({ id, token, key }) => [
    { what: `Installation of the syndicate ${id}`, text: token },
    { what: `API key of the syndicate ${id}`, text: key },
  ]);

const ofApplication = ({ name, clientId, clientSecret }: WorldApp): readonly Secret[] => [
  { what: `${name}, client id`, text: clientId },
  { what: `${name}, client secret`, text: clientSecret },
];
