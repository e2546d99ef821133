import { html } from '../../runtime/html.js';
import type { Reply } from '../http/exchange.js';
import { pageReply, sourceOf } from '../pages/layout.js';
import { cookieOf, csrfField, type Person, realmBadge, signedIn, signInForms } from '../pages/parts.js';
import type { Visit } from '../pages/visit.js';
import type { AuthorizationRequest } from './authorization-request.js';
import { scopeItem } from './scope-words.js';

export function signInPage(
  request: AuthorizationRequest,
  visit: Visit,
  people: readonly Person[],
  unknownEmail: string | null,
): Reply {
  const { app, realm } = request.client;
  const body = html`${realmBadge(realm)}<h1>Sign in to continue to ${app.name}</h1>
<p class="lead">This server has no passwords: sign in with an email address.</p>
${signInForms(visit, people, unknownEmail)}`;
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
${signedIn(visit, person)}
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
${signedIn(visit, person)}`;
  return pageReply({ status: 403, title: `Not reviewed · ${app.name}`, body, ...cookieOf(visit) });
}
