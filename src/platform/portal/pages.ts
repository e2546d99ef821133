import { type Html, html } from '../../runtime/html.js';
import { paths } from '../../wire/paths.js';
import type { Application } from '../applications/model.js';
import type { ReviewState } from '../applications/standing.js';
import type { Reply } from '../http/exchange.js';
import type { Installation } from '../installations/model.js';
import { pageReply } from '../pages/layout.js';
import { cookieOf, csrfField, type Person, signedIn, signInForms } from '../pages/parts.js';
import { table } from '../pages/table.js';
import type { Visit } from '../pages/visit.js';
import type { Endpoint } from '../webhooks/endpoints.js';
import type { AttemptView, DeliveryView } from '../webhooks/portal.js';
import { urlHint } from '../webhooks/present.js';
import type { Key, Membership } from './model.js';

export function portalSignIn(visit: Visit, people: readonly Person[], unknownEmail: string | null): Reply {
  return pageReply({
    status: unknownEmail === null ? 200 : 422,
    title: 'Developer portal',
    body: html`<h1>Developer portal</h1><p class="lead">This server has no passwords: sign in with an email address.</p>${signInForms(visit, people, unknownEmail)}`,
    ...cookieOf(visit),
  });
}

const footer = html`<a href="${paths.docs}">API reference</a>`;

interface Overview extends Membership {
  readonly applications: readonly {
    readonly id: string;
    readonly name: string;
    readonly status: Application['status'];
    readonly review: ReviewState;
    readonly scopes: number;
  }[];
}

const pill = (text: string, kind: 'good' | 'wrong' | '' = ''): Html =>
  html`<span class="pill ${kind}">${text}</span>`;

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

const standing = (status: string): Html => pill(status, status === 'active' ? 'good' : 'wrong');

export function overviewPage(visit: Visit, person: Person, organizations: readonly Overview[]): Reply {
  const list = organizations.map(
    (organization) => html`<section><h2>${organization.name}</h2>
<p class="soft">Your role: ${organization.role} · ${organization.terms_accepted_at === null ? 'attribution terms not accepted' : 'attribution terms accepted'}</p>
${organization.terms_accepted_at === null && ['owner', 'admin'].includes(organization.role) ? terms(visit, organization) : null}
${organization.applications.map(
  (app) => html`<div class="card"><h3><a href="/portal/applications/${app.id}">${app.name}</a></h3>
<p>${standing(app.status)} ${pill(`review: ${app.review}`)} ${pill(counted(app.scopes, 'scope'))}</p><code>${app.id}</code></div>`,
)}</section>`,
  );
  return pageReply({
    title: 'Developer portal',
    wide: true,
    footer,
    body: html`<h1>Developer portal</h1>${signedIn(visit, person)}
${list.length === 0 ? html`<p>You belong to no organization that has applications.</p>` : list}
<section><h2>Documents</h2><p><a href="${paths.discovery}">OAuth metadata, live keys</a><br><a href="${paths.discovery}/sandbox">OAuth metadata, test keys</a></p></section>`,
    ...cookieOf(visit),
  });
}

const terms = (visit: Visit, organization: Membership): Html =>
  html`<form method="post">${csrfField(visit)}<input type="hidden" name="organization" value="${organization.id}"><button name="action" value="accept_terms">Accept the attribution terms</button></form>`;

export interface ApplicationView {
  readonly app: Application;
  readonly review: ReviewState;
  readonly keys: readonly Key[];
  readonly installations: readonly Installation[];
  readonly endpoints: readonly {
    readonly endpoint: Endpoint;
    readonly events: readonly string[];
    readonly deliveries: readonly DeliveryView[];
  }[];
  readonly mayResend: boolean;
}

export function applicationPage(
  visit: Visit,
  person: Person,
  problem: string | null,
  status: number,
  view: ApplicationView,
): Reply {
  const { app } = view;
  return pageReply({
    status,
    title: `${app.name} · Developer portal`,
    wide: true,
    footer,
    body: html`<p><a href="/portal">Developer portal</a></p><h1>${app.name}</h1>
<p>${standing(app.status)} ${pill(`review: ${view.review}`)} ${pill(app.confidential ? 'confidential' : 'public')} ${pill(`version ${app.pinned_version}`)}</p>
${problem === null ? null : html`<p class="bad" role="alert">${problem}</p>`}${signedIn(visit, person)}
<section><h2>Keys</h2>${table(
      ['Realm', 'Client id', 'Secret'],
      view.keys.map((key) => [html`${key.realm}`, html`<code>${key.client_id}</code>`, html`hidden`]),
    )}</section>
<section><h2>Redirect addresses</h2><ul>${app.redirectUris.map((uri) => html`<li><code>${uri}</code></li>`)}</ul></section>
<section><h2>Scopes</h2><ul class="tags">${app.scopes.map((scope) => html`<li><code>${scope}</code></li>`)}</ul></section>
<section><h2>Installs</h2>${table(
      ['Where', 'Tier', 'Realm', 'Since', 'Install'],
      view.installations.map((row) => [
        html`${row.target_name}<br><code>${row.target_id}</code>`,
        html`${row.tier}`,
        html`${row.realm}`,
        html`${new Date(row.installed_at).toUTCString()}`,
        html`<code>${row.id}</code>`,
      ]),
    )}</section>
<section><h2>Webhook endpoints</h2>${view.endpoints.length === 0 ? html`<p class="soft">None yet.</p>` : null}${view.endpoints.map((shown) => endpointCard(visit, shown, view.mayResend))}</section>`,
    ...cookieOf(visit),
  });
}

/** The URL of a bound endpoint is private to its installation, so only a hint is shown, as in the API. */
function endpointCard(visit: Visit, shown: ApplicationView['endpoints'][number], mayResend: boolean): Html {
  const { endpoint, events, deliveries } = shown;
  const address = endpoint.installation_no === null ? endpoint.url : urlHint(endpoint.url);
  return html`<div class="card"><h3>${address}</h3>
<p>${pill(endpoint.enabled === 1 ? 'enabled' : 'disabled', endpoint.enabled === 1 ? 'good' : 'wrong')} ${pill(endpoint.mode)} ${pill(endpoint.installation === null ? 'app-wide' : 'bound')} ${pill(`last: ${endpoint.last_delivery_status ?? 'nothing sent'}`)}</p>
${endpoint.installation === null ? null : html`<p class="soft">To <code>${endpoint.installation}</code> alone.</p>`}
<p class="soft">${events.join(', ')}</p>
${deliveries.length === 0 ? html`<p class="soft">No deliveries yet.</p>` : deliveries.map((delivery) => deliveryCard(visit, delivery, mayResend && endpoint.installation_no === null))}</div>`;
}

const outcome = { delivered: 'good', dead: 'wrong', canceled: 'wrong', pending: '' } as const;

function deliveryCard(visit: Visit, delivery: DeliveryView, mayResend: boolean): Html {
  const again =
    mayResend && delivery.state !== 'canceled'
      ? html`<form method="post">${csrfField(visit)}<input type="hidden" name="delivery" value="${delivery.id}"><div class="actions"><button name="action" value="resend">Send again</button></div></form>`
      : null;
  return html`<details><summary>${delivery.event} ${pill(delivery.state, outcome[delivery.state])} ${pill(counted(delivery.attempts.length, 'attempt'))} <span class="soft">${delivery.created_at}</span></summary>
<p class="soft">Event <code>${delivery.event_id}</code> for <code>${delivery.installation}</code>${delivery.next_attempt_at === null ? null : html`, next attempt ${delivery.next_attempt_at}`}</p>
${table(['At', 'Answer', 'Took', 'Body'], delivery.attempts.map(attemptRow))}${again}</details>`;
}

const attemptRow = (attempt: AttemptView): readonly Html[] => [
  html`${attempt.at}`,
  html`${attempt.status ?? attempt.error}`,
  html`${attempt.duration_ms} ms`,
  html`<code class="long">${attempt.response}</code>`,
];
