import type { Version } from '../../wire/versions.js';
import { applicationByNo } from '../applications/model.js';
import { notFound, Problem } from '../http/problem.js';
import { insertToken, type MintedToken } from '../oauth/tokens.js';
import type { Services } from '../services.js';
import { newId, type Realm } from '../state/secrets.js';
import { run } from '../state/statements.js';
import { announceInstallation } from './announce.js';
import { grantableScopes, mayIncludeIdentity } from './grantable.js';
import { activeInstallation, type Installation, installationByNo } from './model.js';
import {
  actorRole,
  findTarget,
  installRightOn,
  organizationManages,
  type Target,
  type Tier,
} from './targets.js';

export interface InstallWish {
  readonly targetType: 'company' | 'syndicate';
  readonly targetId: string;
  readonly scopes: readonly string[] | undefined;
  readonly tier: Tier | undefined;
}

/** The application, and the person who installs it. */
export interface Installer {
  readonly applicationNo: number;
  readonly realm: Realm;
  readonly userNo: number;
}

export interface Installed {
  readonly installation: Installation;
  readonly token: MintedToken;
}

/** Installs the application and mints the first token of the installation, in one transaction. */
export function install(
  services: Services,
  caller: Installer,
  version: Version,
  wish: InstallWish,
  now: number,
): Installed {
  return services.state.transaction(() => {
    const installation = installWithoutToken(services, caller, version, wish, now);
    const token = mintFor(services, installation, installation.scopes.split(' '), now);
    return { installation, token };
  })();
}

/**
 * Installs the application. Its managers mint the tokens, as after an install that a founder made in the browser. Checks
 * run in the order of their errors: 404, then 403, 409 and 422.
 */
export function installWithoutToken(
  services: Services,
  caller: Installer,
  version: Version,
  wish: InstallWish,
  now: number,
): Installation {
  const { state } = services;
  const app = applicationByNo(state, caller.applicationNo);
  const target = findTarget(state, caller.realm, wish.targetType, wish.targetId);
  const right = target && installRightOn(state, target, caller.userNo, version, wish.tier);
  // A target the user may not edit is reported like one that does not exist.
  if (target === undefined || right === null || right === undefined)
    throw notFound(`The ${wish.targetType} ${wish.targetId}`);
  if (app.status !== 'active') throw suspended();
  const outside = caller.realm === 'live' && !organizationManages(state, app.organization_no, target);
  if (outside && app.approved_at === null) {
    throw new Problem(
      403,
      'forbidden',
      `The application is not approved yet: it can be installed only where its own organization manages.`,
      { remediation: 'Submit the application for review in the developer portal.' },
    );
  }
  const before = activeInstallation(state, app.no, target);
  if (before !== undefined) {
    throw new Problem(409, 'already_installed', `The application is already installed on ${target.id}.`, {
      details: { installation: before.id },
      remediation: `Mint a further token with POST /installations/${before.id}/tokens.`,
    });
  }
  const identity = mayIncludeIdentity(state, app, caller.userNo);
  const scopes = grantableScopes(app, wish.scopes, { readOnly: right.readOnly, identity });
  if (scopes.length === 0) throw noGrantableScopes();
  return state.transaction(() => {
    const at = {
      applicationNo: app.no,
      realm: caller.realm,
      target,
      tier: right.tier,
      scopes,
      userNo: caller.userNo,
    };
    const installation = insertInstallation(services, at, now);
    const role = actorRole(state, target, caller.userNo);
    announceInstallation(services, 'installation.created', installation, role, now);
    return installation;
  })();
}

export interface InstallationRow {
  readonly applicationNo: number;
  readonly realm: Realm;
  readonly target: Pick<Target, 'type' | 'no'>;
  readonly tier: Tier;
  readonly scopes: readonly string[];
  readonly userNo: number;
}

/** Inserts the row only, for installs and the sandbox seed. Performs no checks and emits no event. */
export function insertInstallation(services: Services, row: InstallationRow, now: number): Installation {
  const { no } = run(
    services.state,
    `INSERT INTO installations (id, application_no, realm, company_no, syndicate_no, tier, scopes, installed_by_no,
       installed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      newId(services.random, 'inst_'),
      row.applicationNo,
      row.realm,
      row.target.type === 'company' ? row.target.no : null,
      row.target.type === 'syndicate' ? row.target.no : null,
      row.tier,
      row.scopes.join(' '),
      row.userNo,
      now,
    ],
  );
  return installationByNo(services.state, no);
}

export function mintFor(
  services: Services,
  installation: Installation,
  scopes: readonly string[],
  now: number,
): MintedToken {
  return insertToken(
    services,
    {
      kind: 'installation',
      realm: installation.realm,
      applicationNo: installation.application_no,
      installationNo: installation.no,
      scopes,
    },
    now,
  );
}

export const noGrantableScopes = (): Problem =>
  new Problem(422, 'no_grantable_scopes', 'None of the scopes asked for can be granted here.', {
    remediation: 'Leave scopes out to ask for everything the application declares.',
  });

export const suspended = (): Problem =>
  new Problem(403, 'forbidden', 'The application is suspended and gets no new tokens.');
