import { type Html, html } from '../../runtime/html.js';
import { paths } from '../../wire/paths.js';
import { splitScopes } from '../applications/scopes.js';
import type * as operations from '../contract/installations.js';
import type { Exchange, Reply } from '../http/exchange.js';
import { Problem } from '../http/problem.js';
import { type Client, findClient } from '../oauth/clients.js';
import { passesReview } from '../oauth/review-gate.js';
import { scopeItem } from '../oauth/scope-words.js';
import { answerLanding, type Landing, showLanding } from '../pages/landing.js';
import { seeOther, sourceOf } from '../pages/layout.js';
import { noticePage } from '../pages/parts.js';
import { type Visit, visitOf } from '../pages/visit.js';
import type { State } from '../state/database.js';
import { grantableScopes, mayIncludeIdentity } from './grantable.js';
import { installWithoutToken } from './install.js';
import { activeInstallation } from './model.js';
import { type InstallRight, installRightOn, type Target, targetsOf } from './targets.js';

/**
 * The page behind a founder's install link: sign in, choose a company or a syndicate, install or cancel. The browser then
 * goes to the setup URL of the application, with the installation's id or an error. The token is not in that URL: the
 * managers of the application mint it.
 */
export const openInstallLink = (exchange: Exchange<typeof operations.openInstallLink>): Reply =>
  withLink(exchange, (link) => showLanding(exchange, landingOf(exchange, link)));

export const answerInstallLink = (exchange: Exchange<typeof operations.answerInstallLink>): Reply =>
  withLink(exchange, (link) => answerLanding(exchange, landingOf(exchange, link)));

interface InstallLink {
  readonly client: Client;
  /** Undefined: everything that the application declares. */
  readonly scopes: readonly string[] | undefined;
  readonly state: string | null;
}

type SignedIn = NonNullable<Visit['user']>;

function withLink(exchange: Exchange, then: (link: InstallLink) => Reply): Reply {
  const { query, services } = exchange;
  const client = findClient(services.state, exchange.params.client_id ?? '');
  if (client === undefined) return noticePage(404, 'Unknown application', 'No application has this link.');
  const { app, realm } = client;
  if (app.status !== 'active')
    return noticePage(403, 'Application suspended', `${app.name} is suspended for now.`);
  const { user } = visitOf(exchange);
  if (user !== null && !passesReview(services.state, app, realm, user.no)) {
    return noticePage(
      403,
      `${app.name} has not been reviewed yet`,
      'Until then it can be installed by the people who manage it. Nothing was shared.',
    );
  }
  const asked = query.get('scope');
  return then({
    client,
    scopes: asked === null ? undefined : splitScopes(asked),
    state: query.get('state'),
  });
}

interface Offer {
  readonly target: Target;
  readonly right: InstallRight;
  readonly installed: boolean;
}

function landingOf(exchange: Exchange, link: InstallLink): Landing {
  const { app, realm } = link.client;
  const { user } = visitOf(exchange);
  const offers = user === null ? [] : offersFor(exchange.services.state, link, user);
  const free = offers.filter(({ installed }) => !installed);
  return {
    realm,
    title: `Install ${app.name}`,
    lead: user === null ? intro(app.name) : leadOf(exchange.services.state, link, user, offers),
    ...(app.setupUrl === null ? {} : { leadsTo: sourceOf(app.setupUrl) }),
    answers: [
      { value: 'cancel', label: 'Cancel', go: () => cancel(link) },
      ...free.map(({ target }) => ({
        value: `install ${target.id}`,
        label: `Install on ${target.name}`,
        primary: true,
        go: (person: SignedIn) => installAs(exchange, link, person, target),
      })),
    ],
  };
}

const intro = (name: string): Html =>
  html`<p class="lead">${name} asks to be installed on a company or a syndicate that you manage.</p>`;

function offersFor(state: State, { client }: InstallLink, user: SignedIn): readonly Offer[] {
  const { app, realm } = client;
  return targetsOf(state, realm, user.no).flatMap((target) => {
    const right = installRightOn(state, target, user.no, app.pinned_version);
    if (right === null) return [];
    return [{ target, right, installed: activeInstallation(state, app.no, target) !== undefined }];
  });
}

function leadOf(state: State, link: InstallLink, user: SignedIn, offers: readonly Offer[]): Html {
  const { app } = link.client;
  if (offers.length === 0)
    return html`<p class="lead">You manage no company and no syndicate on which ${app.name} could be installed.</p>`;
  const readOnly = offers.every(({ right }) => right.readOnly);
  const identity = mayIncludeIdentity(state, app, user.no);
  const scopes = grantableScopes(app, link.scopes, { readOnly, identity });
  const already = offers.filter(({ installed }) => installed).map(({ target }) => target.name);
  return html`${intro(app.name)}
${already.length === 0 ? null : html`<p class="soft">Installed already on ${already.join(', ')}.</p>`}
<h2>It will be able to</h2>
<ul class="scopes">${scopes.map(scopeItem)}</ul>`;
}

function installAs(exchange: Exchange, link: InstallLink, person: SignedIn, target: Target): Reply {
  const { services, now } = exchange;
  const { app, realm } = link.client;
  const installer = { applicationNo: app.no, realm, userNo: person.no };
  const wish = { targetType: target.type, targetId: target.id, scopes: link.scopes, tier: undefined };
  try {
    const { id } = installWithoutToken(services, installer, app.pinned_version, wish, now);
    return (
      onwards(link, { installation_id: id }) ??
      noticePage(200, 'Installed', `${target.name} has ${app.name} now.`)
    );
  } catch (error) {
    if (error instanceof Problem) return noticePage(error.status, 'Not installed', error.message);
    throw error;
  }
}

const cancel = (link: InstallLink): Reply =>
  onwards(link, { error: 'access_denied' }) ?? noticePage(200, 'Canceled', 'Nothing was installed.');

/** Returns the redirect to the setup URL with the link's state, or null for an application without one. */
function onwards({ client, state }: InstallLink, outcome: Readonly<Record<string, string>>): Reply | null {
  const { setupUrl } = client.app;
  if (setupUrl === null) return null;
  const to = new URL(setupUrl);
  for (const [name, value] of Object.entries(outcome)) to.searchParams.set(name, value);
  if (state !== null) to.searchParams.set('state', state);
  return seeOther(to.href);
}

export const installLinkPath = (clientId: string): string =>
  paths.installLink.replace('{client_id}', clientId);
