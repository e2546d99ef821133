import type { Caller } from '../http/caller.js';
import { callerOf, type Exchange } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import type { State } from '../state/database.js';
import { all, one } from '../state/statements.js';
import { type Endpoint, endpointById } from './endpoints.js';

/**
 * Which callers may manage which endpoint.
 *
 *   app-wide, live   users with a managing role in the application's organization
 *   app-wide, test   the same on the live API; every user in the sandbox, where the allowed actions are harmless
 *   bound            tokens of its company or syndicate, and users whose role there is at or above the
 *                    installation's tier; a role in the organization grants nothing
 */
export const forbiddenRole = (): Problem =>
  new Problem(
    403,
    'forbidden_role',
    "This needs the role owner, admin or developer in the application's organization.",
    {
      remediation: 'Ask an owner of the organization for one of these roles, or bind to an installation.',
    },
  );

function managesApplication(state: State, caller: Caller): boolean {
  if (caller.kind !== 'user') return false;
  const row = one(
    state,
    `SELECT 1 FROM organization_members
     WHERE organization_no = ? AND user_no = ? AND role IN ('owner', 'admin', 'developer')`,
    [caller.app.organization_no, caller.userNo],
  );
  return row !== undefined;
}

/** Compares tiers: the user's rank on the left, the installation's on the right. */
const reachedByUser = `SELECT i.no FROM installations i
  LEFT JOIN company_members c ON c.company_no = i.company_no AND c.user_no = :user
  LEFT JOIN syndicate_managers s ON s.syndicate_no = i.syndicate_no AND s.user_no = :user
  WHERE i.application_no = :application AND i.realm = :realm AND (
    i.user_no = :user
    OR CASE c.tier WHEN 'editor' THEN 1 WHEN 'admin' THEN 2 WHEN 'founder' THEN 3 END
       >= CASE i.tier WHEN 'editor' THEN 1 WHEN 'admin' THEN 2 ELSE 3 END
    OR s.permission = 'full_access' OR (s.permission = 'operator' AND i.tier = 'operator'))`;

const reachedByBoundToken = `SELECT i.no FROM installations i
  WHERE i.application_no = :application AND i.realm = :realm AND (
    i.no = :installation OR i.company_no = :company OR i.syndicate_no = :syndicate)`;

/** Returns the installations, active and revoked, whose bound endpoints the caller may manage. */
function reachedInstallations(state: State, caller: Caller): ReadonlySet<number> {
  const about = { application: caller.app.no, realm: caller.realm };
  const rows = () => {
    switch (caller.kind) {
      case 'user':
        return all<{ no: number }>(state, reachedByUser, { ...about, user: caller.userNo });
      case 'installation':
        return all<{ no: number }>(state, reachedByBoundToken, {
          ...about,
          installation: caller.installationNo,
          company: caller.companyNo,
          syndicate: caller.syndicateNo,
        });
      case 'syndicate_key':
        return all<{ no: number }>(state, reachedByBoundToken, {
          ...about,
          installation: null,
          company: null,
          syndicate: caller.syndicateNo,
        });
      case 'application':
      case 'publishable':
        return [];
    }
  };
  return new Set(rows().map((row) => row.no));
}

export interface Reach {
  readonly appWide: boolean;
  readonly installations: ReadonlySet<number>;
}

export function reachOf(exchange: Exchange): Reach {
  const caller = callerOf(exchange);
  const { state } = exchange.services;
  const appWide = caller.kind === 'user' && (caller.realm === 'test' || managesApplication(state, caller));
  return { appWide, installations: reachedInstallations(state, caller) };
}

/** The sandbox sees only test endpoints; the live API manages both. */
export const inRealm = (caller: Caller, endpoint: Endpoint): boolean =>
  caller.realm === 'live' || endpoint.mode === 'test';

export function reaches(reach: Reach, endpoint: Endpoint): boolean {
  return endpoint.installation_no === null
    ? reach.appWide
    : reach.installations.has(endpoint.installation_no);
}

/** Throws a 403 for a user who may not manage any endpoint, before anything else is checked. */
export function requireSomeReach(exchange: Exchange): void {
  const reach = reachOf(exchange);
  if (callerOf(exchange).kind === 'user' && !reach.appWide && reach.installations.size === 0) {
    throw forbiddenRole();
  }
}

/** Returns the endpoint of the path. Throws a 404 if it is hidden, or a 403 for an app-wide one without the role. */
export function requireEndpoint(exchange: Exchange): Endpoint {
  const caller = callerOf(exchange);
  const endpoint = endpointById(exchange.services.state, caller.app.no, exchange.params.external_id ?? '');
  if (endpoint === undefined || !inRealm(caller, endpoint)) throw notFound('The webhook endpoint');
  if (reaches(reachOf(exchange), endpoint)) return endpoint;
  if (endpoint.installation_no === null && caller.kind === 'user') throw forbiddenRole();
  throw notFound('The webhook endpoint');
}

/** Throws a 403 in the sandbox: test endpoints are managed on the live API. The sandbox shows, tests and re-enables. */
export function refuseInSandbox(exchange: Exchange): void {
  if (callerOf(exchange).realm === 'live') return;
  throw new Problem(
    403,
    'manage_endpoints_on_live_api',
    'Webhook endpoints are managed on the live API, those of mode test too.',
    {
      remediation: 'Repeat the request with a live credential; use "mode": "test" for sandbox events.',
    },
  );
}
