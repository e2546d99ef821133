import { paths } from '../../wire/paths.js';
import { identityScope } from '../applications/scopes.js';
import type { Operation } from '../contract/operation.js';
import type { Exchange, Handler, PostedForm, Reply } from '../http/exchange.js';
import { mayIncludeIdentity } from '../installations/grantable.js';
import { seeOther } from '../pages/layout.js';
import { isForged, noticePage, outdatedForm, peopleToChoose, personByEmail } from '../pages/parts.js';
import { endVisit, signIn, type Visit, visitOf } from '../pages/visit.js';
import type { Realm } from '../state/secrets.js';
import { type AuthorizationRequest, checkAuthorization } from './authorization-request.js';
import { consentPage, notReviewedPage, signInPage } from './authorize-pages.js';
import { issueCode } from './codes.js';
import { withParameters } from './redirect-uris.js';
import { passesReview } from './review-gate.js';

/** The authorization page. Every step checks the request again; nothing is stored between steps. */
export const openAuthorize = (realm: Realm): Handler =>
  checked(realm, (exchange, request) => showPage(exchange, request, visitOf(exchange)));

export const answerAuthorize = (realm: Realm): Handler<PostedForm> =>
  checked<PostedForm>(realm, (exchange, request) => {
    const visit = visitOf(exchange);
    const form = exchange.input.body;
    if (isForged(visit, form)) return outdatedForm();
    const action = Object.hasOwn(actions, form.action ?? '') ? actions[form.action ?? ''] : undefined;
    return action === undefined
      ? noticePage(400, 'Unknown action', 'This form has no such action.')
      : action(exchange, request, visit, form);
  });

type Asked<Declared extends Operation> = (
  exchange: Exchange<Declared>,
  request: AuthorizationRequest,
) => Reply;

function checked<Declared extends Operation>(realm: Realm, then: Asked<Declared>): Handler<Declared> {
  return (exchange) => {
    const result = checkAuthorization(exchange.services.state, exchange.query, realm);
    switch (result.kind) {
      case 'page':
        return noticePage(400, result.title, result.why);
      case 'other_realm':
        return otherRealm(realm, exchange);
      case 'redirect':
        return seeOther(result.to);
      case 'ask':
        return then(exchange, result.request);
    }
  };
}

/** A sandbox key at the live URL is redirected to the sandbox. A live key at the sandbox URL is rejected. */
function otherRealm(realm: Realm, exchange: Exchange): Reply {
  if (realm === 'live' && exchange.method !== 'POST') {
    return seeOther(`${paths.sandboxAuthorize}?${exchange.query}`);
  }
  return noticePage(
    400,
    'Wrong address for this key',
    `Keys of this kind are used at ${realm === 'live' ? paths.sandboxAuthorize : paths.authorize}.`,
  );
}

function showPage(exchange: Exchange, request: AuthorizationRequest, visit: Visit): Reply {
  const { state } = exchange.services;
  const { app, realm } = request.client;
  if (visit.user === null) return signInPage(request, visit, peopleToChoose(exchange, realm), null);
  if (!passesReview(state, app, realm, visit.user.no)) return notReviewedPage(request, visit, visit.user);
  const scopes = grantedScopes(exchange, request, visit.user.no);
  if (scopes.length === 0) return seeOther(nothingToGrant(request));
  return consentPage(request, visit, visit.user, scopes);
}

/** Drops the identity scope unless the application may have it, as an install does. */
function grantedScopes(exchange: Exchange, request: AuthorizationRequest, userNo: number): string[] {
  const identity = mayIncludeIdentity(exchange.services.state, request.client.app, userNo);
  return request.scopes.filter((scope) => scope !== identityScope || identity);
}

const nothingToGrant = (request: AuthorizationRequest): string =>
  withParameters(request.redirectUri, {
    error: 'invalid_scope',
    error_description: 'The application is not approved for investor identity',
    state: request.state,
  });

type Action = (
  exchange: Exchange,
  request: AuthorizationRequest,
  visit: Visit,
  form: Readonly<Record<string, string>>,
) => Reply;

const here = (exchange: Exchange): string => `${exchange.path}?${exchange.query}`;

const actions: Readonly<Record<string, Action>> = {
  sign_in: (exchange, request, visit, form) => {
    const email = (form.email ?? '').trim();
    const user = personByEmail(exchange, email);
    if (user === undefined) {
      return signInPage(request, visit, peopleToChoose(exchange, request.client.realm), email);
    }
    return seeOther(here(exchange), signIn(exchange, user.no));
  },
  sign_out: (exchange) => seeOther(here(exchange), endVisit(exchange)),
  deny: (_exchange, request) =>
    seeOther(withParameters(request.redirectUri, { error: 'access_denied', state: request.state })),
  approve: (exchange, request, visit) => {
    const { services, now } = exchange;
    const { client, redirectUri, challenge, state } = request;
    if (visit.user === null) return seeOther(here(exchange));
    if (!passesReview(services.state, client.app, client.realm, visit.user.no)) {
      return notReviewedPage(request, visit, visit.user);
    }
    const scopes = grantedScopes(exchange, request, visit.user.no);
    if (scopes.length === 0) return seeOther(nothingToGrant(request));
    const consent = { client, userNo: visit.user.no, redirectUri, scopes, challenge };
    const code = issueCode(services, consent, now);
    return seeOther(withParameters(redirectUri, { code, state }));
  },
};
