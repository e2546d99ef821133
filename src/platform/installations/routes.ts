import { revokedInstallationsListedSeconds } from '../../wire/limits.js';
import { administersOrganization, managesOrganization } from '../applications/model.js';
import * as operations from '../contract/installations.js';
import type { Caller } from '../http/caller.js';
import { created, type Exchange, ok, type Reply, userOf } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { spendIp } from '../http/steps/spend.js';
import type { MintedToken } from '../oauth/tokens.js';
import type { State } from '../state/database.js';
import { narrowedScopes } from './grantable.js';
import { install, mintFor, noGrantableScopes, suspended } from './install.js';
import { answerInstallLink, openInstallLink } from './install-link.js';
import {
  activeInstallation,
  findInstallation,
  type Installation,
  installationResourceOf,
  listedInstallations,
} from './model.js';
import { revokeInstallation } from './revoke.js';
import { actorRole, installRightOn, mayManageTarget, type Target, targetsOf } from './targets.js';

type UserCaller = Extract<Caller, { kind: 'user' }>;

const anyone = spendIp('ip');

export const installationRoutes: readonly Route[] = [
  route(operations.listInstallations, ...guarded, list),
  route(operations.listEligible, ...guarded, eligible),
  route(operations.createInstallation, ...guarded, create),
  route(operations.getInstallation, ...guarded, (exchange) =>
    ok({ data: installationResourceOf(visible(exchange)) }),
  ),
  route(operations.revokeInstallation, ...guarded, revoke),
  route(operations.mintInstallationToken, ...guarded, mint),
  route(operations.openInstallLink, anyone, openInstallLink),
  route(operations.answerInstallLink, anyone, answerInstallLink),
];

const targetOf = (row: Installation): Pick<Target, 'type' | 'no'> => {
  if (row.target_type === 'user') throw new Error('a user connection has no target');
  return { type: row.target_type, no: row.target_no };
};

function mayRevoke(state: State, caller: UserCaller, row: Installation): boolean {
  return (
    mayManageTarget(state, targetOf(row), caller.userNo) ||
    administersOrganization(state, caller.app.organization_no, caller.userNo)
  );
}

function maySee(state: State, caller: UserCaller, row: Installation): boolean {
  return (
    row.installed_by_no === caller.userNo ||
    managesOrganization(state, caller.app.organization_no, caller.userNo) ||
    mayRevoke(state, caller, row)
  );
}

/** Returns the installation if it belongs to the calling application and realm and the user may see it; else a 404. */
function visible(exchange: Exchange): Installation {
  const caller = userOf(exchange);
  const { state } = exchange.services;
  const id = exchange.params.external_id ?? '';
  const row = findInstallation(state, caller.app.no, caller.realm, id);
  if (row === undefined || !maySee(state, caller, row)) throw notFound(`The installation ${id}`);
  return row;
}

const whole = (count: number) => ({ count, page_count: count, has_more: false, next_cursor: null });

function list(exchange: Exchange): Reply {
  const caller = userOf(exchange);
  const { state } = exchange.services;
  const since = exchange.now - revokedInstallationsListedSeconds * 1000;
  // Asked once, because an application can have ten thousand installations.
  const manages = managesOrganization(state, caller.app.organization_no, caller.userNo);
  const rows = listedInstallations(state, caller.app.no, caller.realm, since).filter(
    (row) => manages || maySee(state, caller, row),
  );
  return ok({ data: rows.map(installationResourceOf), meta: whole(rows.length) });
}

function eligible(exchange: Exchange<typeof operations.listEligible>): Reply {
  const caller = userOf(exchange);
  const { state } = exchange.services;
  const { target_type } = exchange.input.query;
  const data = targetsOf(state, caller.realm, caller.userNo)
    .filter((target) => target_type === undefined || target.type === target_type)
    .flatMap((target) => {
      const right = installRightOn(state, target, caller.userNo, exchange.version);
      if (right === null) return [];
      const existing = activeInstallation(state, caller.app.no, target);
      const { type, id, name } = target;
      const installation = existing === undefined ? null : installationResourceOf(existing);
      return [{ type, id, name, tier: right.tier, installed: existing !== undefined, installation }];
    });
  return ok({ data, meta: whole(data.length) });
}

function create(exchange: Exchange<typeof operations.createInstallation>): Reply {
  const body = exchange.input.body;
  const wish = {
    targetType: body.target_type,
    targetId: body.target_id,
    scopes: body.scopes,
    tier: body.tier,
  };
  const { app, realm, userNo } = userOf(exchange);
  const installer = { applicationNo: app.no, realm, userNo };
  const made = install(exchange.services, installer, exchange.version, wish, exchange.now);
  const scopes = made.installation.scopes.split(' ');
  return created(withToken(made.installation, made.token, scopes, exchange.now));
}

function revoke(exchange: Exchange): Reply {
  const caller = userOf(exchange);
  const { state } = exchange.services;
  const row = visible(exchange);
  if (!mayRevoke(state, caller, row)) {
    throw new Problem(403, 'forbidden', 'Your role does not allow revoking this installation.');
  }
  const role = actorRole(state, targetOf(row), caller.userNo);
  const revoked = revokeInstallation(exchange.services, row.no, role, exchange.now);
  return ok({ data: installationResourceOf(revoked) });
}

/** Every user who may see an installation may also create tokens for it. */
function mint(exchange: Exchange<typeof operations.mintInstallationToken>): Reply {
  const { scopes: asked } = exchange.input.body;
  const row = visible(exchange);
  if (row.revoked_at !== null) {
    throw new Problem(409, 'conflict', `The installation ${row.id} is revoked and cannot be restored.`, {
      remediation: 'Install the application again with POST /installations.',
    });
  }
  if (userOf(exchange).app.status !== 'active') throw suspended();
  const scopes = narrowedScopes(row.scopes.split(' '), asked);
  if (scopes.length === 0) throw noGrantableScopes();
  return created(withToken(row, mintFor(exchange.services, row, scopes, exchange.now), scopes, exchange.now));
}

function withToken(row: Installation, token: MintedToken, scopes: readonly string[], now: number): unknown {
  return {
    data: installationResourceOf(row),
    token: {
      access_token: token.token,
      token_type: 'Bearer',
      scope: scopes.join(' '),
      installation: row.id,
      created_at: Math.floor(now / 1000),
    },
    meta: null,
  };
}
