import type { Reply } from '../http/exchange.js';
import { type Html, html } from '../pages/html.js';
import { pageReply, sourceOf } from '../pages/layout.js';
import type { Visit } from '../pages/visit.js';
import type { Realm } from '../state/secrets.js';
import type { AuthorizationRequest } from './authorization-request.js';
import { scopeItem } from './scope-words.js';

export interface Person {
  readonly name: string;
  readonly email: string;
}

const realmBadge = (realm: Realm): Html | null =>
  realm === 'test' ? html`<p class="badge">Sandbox</p>` : null;

const csrfField = (visit: Visit): Html => html`<input type="hidden" name="csrf" value="${visit.csrf}">`;

/** A refusal that goes nowhere: no link, no redirect. */
export function refusalPage(status: number, title: string, why: string): Reply {
  return pageReply({ status, title, body: html`<h1>${title}</h1><p class="lead">${why}</p>` });
}

export function signInPage(
  request: AuthorizationRequest,
  visit: Visit,
  people: readonly Person[],
  unknownEmail: string | null,
): Reply {
  const { app, realm } = request.client;
  const list = people.map(
    (person) =>
      html`<button class="row" name="email" value="${person.email}"><strong>${person.name}</strong><span class="soft">${person.email}</span></button>`,
  );
  const body = html`${realmBadge(realm)}<h1>Sign in to continue to ${app.name}</h1>
<p class="lead">This server keeps no passwords: say who you are.</p>
${list.length === 0 ? null : html`<form method="post">${csrfField(visit)}<input type="hidden" name="action" value="sign_in">${list}</form>`}
<form method="post">${csrfField(visit)}<input type="hidden" name="action" value="sign_in">
<label for="email">Email address</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${unknownEmail ?? ''}">
${unknownEmail === null ? null : html`<p class="bad" role="alert">Nobody here has this address.</p>`}
<div class="actions"><button class="primary">Continue</button></div>
</form>`;
  return pageReply({
    status: unknownEmail === null ? 200 : 422,
    title: `Sign in · ${app.name}`,
    body,
    ...cookieOf(visit),
  });
}

export function consentPage(
  request: AuthorizationRequest,
  visit: Visit,
  person: Person,
  scopes: readonly string[],
): Reply {
  const { app, realm } = request.client;
  const body = html`${realmBadge(realm)}<h1>${app.name} asks for access to your account</h1>
<form method="post">${csrfField(visit)}<div class="person"><span><strong>${person.name}</strong><br><span class="soft">${person.email}</span></span><button class="link" name="action" value="sign_out">Not you?</button></div></form>
<h2>It will be able to</h2>
<ul class="scopes">${scopes.map(scopeItem)}</ul>
<form method="post">${csrfField(visit)}<div class="actions"><button name="action" value="deny">Deny</button><button class="primary" name="action" value="approve">Allow</button></div></form>
<p class="soft">Your answer goes to <code>${sourceOf(request.redirectUri)}</code>.</p>`;
  return pageReply({
    title: `Allow access · ${app.name}`,
    body,
    leadsTo: sourceOf(request.redirectUri),
    ...cookieOf(visit),
  });
}

export function notReviewedPage(request: AuthorizationRequest, visit: Visit, person: Person): Reply {
  const { app } = request.client;
  const body = html`<h1>${app.name} has not been reviewed yet</h1>
<p class="lead">Until the platform has reviewed this application, only the people who manage it can connect it. Nothing was shared.</p>
<form method="post">${csrfField(visit)}<div class="person"><span><strong>${person.name}</strong><br><span class="soft">${person.email}</span></span><button class="link" name="action" value="sign_out">Not you?</button></div></form>`;
  return pageReply({ status: 403, title: `Not reviewed · ${app.name}`, body, ...cookieOf(visit) });
}

const cookieOf = (visit: Visit): { cookie?: string } =>
  visit.cookie === undefined ? {} : { cookie: visit.cookie };
