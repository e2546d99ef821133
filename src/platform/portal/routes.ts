import { administersOrganization, applicationsOf, managesOrganization } from '../applications/model.js';
import { reviewOf } from '../applications/standing.js';
import * as operations from '../contract/portal.js';
import type { Exchange, PostedForm, Reply } from '../http/exchange.js';
import { Problem } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { spendIp } from '../http/steps/spend.js';
import { listedInstallations } from '../installations/model.js';
import { seeOther } from '../pages/layout.js';
import { isForged, noticePage, outdatedForm, peopleToChoose, personByEmail } from '../pages/parts.js';
import { endVisit, signIn, type Visit, visitOf } from '../pages/visit.js';
import { acceptTerms } from '../referrals/model.js';
import { endpointsOf, subscribedEvents } from '../webhooks/endpoints.js';
import { listDeliveries } from '../webhooks/portal.js';
import { keysOf, membershipsOf, ownerOfDelivery } from './model.js';
import { applicationPage, overviewPage, portalSignIn } from './pages.js';

/** Resends a webhook delivery for the portal. Throws a `Problem` when it cannot be resent. */
export interface Resender {
  resend(deliveryId: string): void;
}

type User = NonNullable<Visit['user']>;

const deliveriesShown = 20;
const anyone = spendIp('ip');

export function portalRoutes(webhooks: Resender): readonly Route[] {
  return [
    route(operations.openPortal, anyone, (exchange) => overview(exchange, visitOf(exchange))),
    route(operations.answerPortal, anyone, answer),
    route(operations.openPortalApplication, anyone, (exchange) => {
      const visit = visitOf(exchange);
      return visit.user === null ? seeOther('/portal') : detail(exchange, visit, visit.user, null);
    }),
    route(operations.answerPortalApplication, anyone, (exchange) => answerApplication(exchange, webhooks)),
  ];
}

/** The portal signs in users of the sandbox, because organizations and applications are shared by both realms. */
function overview(exchange: Exchange, visit: Visit, unknownEmail: string | null = null): Reply {
  const { services } = exchange;
  if (visit.user === null) return portalSignIn(visit, peopleToChoose(exchange, 'test'), unknownEmail);
  const organizations = membershipsOf(services.state, visit.user.no).map((membership) => ({
    ...membership,
    applications: applicationsOf(services.state, membership.no).map((app) => ({
      id: app.id,
      name: app.name,
      status: app.status,
      review: reviewOf(services, app),
      scopes: app.scopes.length,
    })),
  }));
  return overviewPage(visit, visit.user, organizations);
}

function answer(exchange: Exchange<PostedForm>): Reply {
  const visit = visitOf(exchange);
  const form = exchange.input.body;
  if (isForged(visit, form)) return outdatedForm();
  switch (form.action) {
    case 'sign_in': {
      const email = (form.email ?? '').trim();
      const person = personByEmail(exchange, email);
      return person === undefined
        ? overview(exchange, visit, email)
        : seeOther('/portal', signIn(exchange, person.no));
    }
    case 'sign_out':
      return seeOther('/portal', endVisit(exchange));
    case 'accept_terms':
      return accept(exchange, visit, form.organization ?? '');
    default:
      return noticePage(400, 'Unknown action', 'This form has no such action.');
  }
}

function accept(exchange: Exchange, visit: Visit, organizationId: string): Reply {
  const { state } = exchange.services;
  if (visit.user === null) return seeOther('/portal');
  const organization = membershipsOf(state, visit.user.no).find(({ id }) => id === organizationId);
  if (organization === undefined || !administersOrganization(state, organization.no, visit.user.no)) {
    return noticePage(
      403,
      'You cannot accept these terms',
      'Only an owner or admin of the organization may accept the terms.',
    );
  }
  acceptTerms(state, organization.no, true, exchange.now);
  return seeOther('/portal');
}

function answerApplication(exchange: Exchange<PostedForm>, webhooks: Resender): Reply {
  const visit = visitOf(exchange);
  const form = exchange.input.body;
  if (isForged(visit, form)) return outdatedForm();
  if (form.action === 'sign_out') return seeOther('/portal', endVisit(exchange));
  if (visit.user === null) return seeOther('/portal');
  if (form.action !== 'resend') return noticePage(400, 'Unknown action', 'This form has no such action.');
  return resend(exchange, visit, visit.user, webhooks);
}

function resend(exchange: Exchange<PostedForm>, visit: Visit, user: User, webhooks: Resender): Reply {
  const { state } = exchange.services;
  const { delivery: id = '' } = exchange.input.body;
  const app = found(exchange, user);
  const delivery = ownerOfDelivery(state, id);
  if (app === undefined || delivery?.application_no !== app.no) return unknown();
  if (!managesOrganization(state, app.organization_no, user.no)) {
    return noticePage(
      403,
      'Your role is read-only',
      'Only an owner, admin or developer may resend deliveries.',
    );
  }
  if (delivery.bound === 1)
    return detail(exchange, visit, user, 'An installation manages this endpoint.', 403);
  try {
    webhooks.resend(id);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return detail(exchange, visit, user, error.message, error.status);
  }
  return seeOther(exchange.path);
}

/** Returns the application if it belongs to an organization of the user. */
function found(exchange: Exchange, user: User) {
  const { state } = exchange.services;
  return membershipsOf(state, user.no)
    .flatMap((membership) => applicationsOf(state, membership.no))
    .find(({ id }) => id === exchange.params.id);
}

const unknown = (): Reply => noticePage(404, 'Not found', 'None of your organizations has this application.');

function detail(exchange: Exchange, visit: Visit, user: User, problem: string | null, status = 200): Reply {
  const { services } = exchange;
  const { state } = services;
  const app = found(exchange, user);
  if (app === undefined) return unknown();
  return applicationPage(visit, user, problem, status, {
    app,
    review: reviewOf(services, app),
    keys: keysOf(state, app.no),
    installations: (['test', 'live'] as const).flatMap((realm) =>
      listedInstallations(state, app.no, realm, exchange.now),
    ),
    endpoints: endpointsOf(state, app.no).map((endpoint) => ({
      endpoint,
      events: subscribedEvents(state, endpoint.no),
      deliveries: listDeliveries(state, { endpoint: endpoint.id, limit: deliveriesShown }),
    })),
    mayResend: managesOrganization(state, app.organization_no, user.no),
  });
}
