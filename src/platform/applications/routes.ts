import * as operations from '../contract/applications.js';
import { callerOf, created, type Exchange, ok, type Reply, type Step } from '../http/exchange.js';
import { invalidFields, notFound, Problem } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { bearer } from '../http/steps/bearer.js';
import { isWithoutUser, lacksUser } from '../http/steps/guarded.js';
import { redirectProblem } from '../oauth/redirect-uris.js';
import type { Services } from '../services.js';
import type { Realm } from '../state/secrets.js';
import { all } from '../state/statements.js';
import {
  type Application,
  applicationsOf,
  type ClientKeys,
  changeApplication,
  createApplication,
  organizationRole,
} from './model.js';
import { addScopes, refuseUnlessSelfServe, removeScopes } from './scope-edits.js';
import { canonicalScopes } from './scopes.js';
import { disable, remove, requestReview, reviewOf } from './standing.js';

/**
 * Requires a user with one of the roles in the organization that owns the calling application. An application of
 * another organization that the user connected therefore cannot reach the user's own applications.
 */
function requireRole(...roles: readonly string[]): Step {
  return (exchange) => {
    const caller = callerOf(exchange);
    if (isWithoutUser(caller.kind)) throw lacksUser();
    const { state } = exchange.services;
    const role =
      caller.kind === 'user' ? organizationRole(state, caller.app.organization_no, caller.userNo) : null;
    if (role !== null && roles.includes(role)) return;
    throw new Problem(403, 'forbidden_role', `This needs a user with the role ${roles.join(' or ')}.`, {
      remediation: 'Ask an owner of the organization for that role.',
    });
  };
}

const manager = [...bearer, requireRole('owner', 'admin', 'developer')] as const;
const administrator = [...bearer, requireRole('owner', 'admin')] as const;

export const applicationRoutes: readonly Route[] = [
  route(operations.listApplications, ...manager, list),
  route(operations.createApplication, ...manager, create),
  route(operations.getApplication, ...manager, (exchange) => shown(exchange, named(exchange))),
  route(operations.changeApplication, ...manager, change),
  route(operations.addScopes, ...manager, add),
  route(operations.removeScope, ...manager, removeOne),
  route(operations.requestReview, ...administrator, review),
  route(operations.disableApplication, ...administrator, (exchange) =>
    shown(exchange, disable(exchange.services, named(exchange), exchange.now)),
  ),
  route(operations.deleteApplication, ...administrator, (exchange) => {
    const app = named(exchange);
    remove(exchange.services, app, exchange.now);
    return ok({ data: { id: app.id, type: 'application', removed: true } });
  }),
];

function own(exchange: Exchange): readonly Application[] {
  return applicationsOf(exchange.services.state, callerOf(exchange).app.organization_no);
}

function named(exchange: Exchange): Application {
  const app = own(exchange).find(({ id }) => id === exchange.params.id);
  if (app === undefined) throw notFound(`The application ${exchange.params.id}`);
  return app;
}

const shown = (exchange: Exchange, app: Application): Reply =>
  ok({ data: applicationResource(exchange.services, app) });

function list(exchange: Exchange): Reply {
  const data = own(exchange).map((app) => applicationResource(exchange.services, app));
  return ok({ data, meta: { page_count: data.length, has_more: false, next_cursor: null } });
}

function create(exchange: Exchange<typeof operations.createApplication>): Reply {
  const body = exchange.input.body;
  const scopes = canonicalScopes(body.scopes);
  refuseUnlessSelfServe(scopes);
  checkRedirects(body.redirect_uris, body.client_type === 'confidential');
  const { application, clients } = createApplication(
    exchange.services,
    {
      organizationNo: callerOf(exchange).app.organization_no,
      name: body.name,
      confidential: body.client_type === 'confidential',
      redirectUris: body.redirect_uris,
      setupUrl: body.setup_url,
      scopes,
    },
    exchange.now,
  );
  return created({ data: applicationResource(exchange.services, application, clients.live) });
}

function change(exchange: Exchange<typeof operations.changeApplication>): Reply {
  const body = exchange.input.body;
  const app = named(exchange);
  const redirectUris = body.redirect_uris ?? app.redirectUris;
  checkRedirects(redirectUris, app.confidential);
  const setupUrl = body.setup_url === undefined ? app.setupUrl : body.setup_url;
  const changed = { name: body.name ?? app.name, redirectUris, setupUrl };
  return shown(exchange, changeApplication(exchange.services.state, app.no, changed));
}

function checkRedirects(uris: readonly string[], confidential: boolean): void {
  const wrong = uris.flatMap((uri, index) => {
    const why = redirectProblem(uri);
    return why === null ? [] : [{ field: `redirect_uris.${index}`, code: 'invalid', message: `${why}.` }];
  });
  if (wrong.length > 0) throw invalidFields(wrong);
  if (confidential || uris.length > 0) return;
  const message = 'A public client needs a redirect URI: it has no other way to get a token.';
  throw invalidFields([{ field: 'redirect_uris', code: 'required', message }]);
}

function add(exchange: Exchange<typeof operations.addScopes>): Reply {
  const { scopes } = exchange.input.body;
  return shown(exchange, addScopes(exchange.services, named(exchange), scopes));
}

function removeOne(exchange: Exchange): Reply {
  const done = removeScopes(exchange.services, named(exchange), [exchange.params.scope ?? ''], exchange.now);
  return ok({
    data: applicationResource(exchange.services, done.application),
    meta: {
      removed: done.removed,
      still_implied: done.stillImplied,
      installations_narrowed: done.installationsNarrowed,
      installations_revoked: done.installationsRevoked,
      tokens_revoked: done.tokensRevoked,
    },
  });
}

function review(exchange: Exchange): Reply {
  const app = named(exchange);
  requestReview(exchange.services, app, exchange.now);
  return shown(exchange, app);
}

function applicationResource(
  services: Services,
  app: Application,
  justMinted?: ClientKeys,
): operations.ApplicationResource {
  if (app.status === 'deleted') throw new Error('a deleted application cannot be presented');
  const keys = all<{ client_id: string; realm: Realm; secret_plain: string | null }>(
    services.state,
    'SELECT client_id, realm, secret_plain FROM clients WHERE application_no = ? AND archived_at IS NULL',
    [app.no],
  );
  const client = (realm: Realm) => {
    const key = keys.find((candidate) => candidate.realm === realm);
    if (key === undefined) throw new Error(`application ${app.id} has no ${realm} client`);
    const secret = justMinted?.clientId === key.client_id ? justMinted.secret : key.secret_plain;
    return { client_id: key.client_id, client_secret: secret };
  };
  return {
    id: app.id,
    type: 'application',
    attributes: {
      name: app.name,
      client_type: app.confidential ? 'confidential' : 'public',
      redirect_uris: [...app.redirectUris],
      setup_url: app.setupUrl,
      scopes: [...app.scopes],
      status: app.status,
      review: reviewOf(services, app),
      pii_approved: app.piiApproved,
      pinned_version: app.pinned_version,
      created_at: new Date(app.createdAt).toISOString(),
      clients: { test: client('test'), live: client('live') },
    },
  };
}
