import { programScopes, selfServeScopes } from '../contract/scopes.js';
import { invalidFields, Problem } from '../http/problem.js';
import { expandScopes } from '../http/scopes.js';
import { endFamily } from '../installations/connections.js';
import { revokeInstallation } from '../installations/revoke.js';
import type { Services } from '../services.js';
import { all, run } from '../state/statements.js';
import { type Application, applicationByNo } from './model.js';
import { canonicalScopes, isKnownScope, offeredScopes } from './scopes.js';

/** Adds scopes to the application. Existing tokens and installations keep the scopes they have. */
export function addScopes(services: Services, app: Application, scopes: readonly string[]): Application {
  if (app.status !== 'active') {
    throw new Problem(
      409,
      'scope_change_blocked',
      `The application is ${app.status}; scopes cannot be added.`,
    );
  }
  const added = canonicalScopes(scopes);
  refuseUnlessSelfServe(added);
  return writeScopes(services, app, [...new Set([...app.scopes, ...added])]);
}

/**
 * Assigns the scopes of the platform's programs, as only the platform does. Like other changes of scopes, it widens no
 * token; tokens that hold a scope the application loses are revoked.
 */
export function assignProgramScopes(
  services: Services,
  app: Application,
  scopes: readonly string[],
  now: number,
): void {
  const lost = app.scopes.filter((scope) => isProgramScope(scope) && !scopes.includes(scope));
  const others = app.scopes.filter((scope) => !isProgramScope(scope));
  if (lost.length > 0) removeScopes(services, app, lost, now);
  writeScopes(services, app, [...new Set([...others, ...scopes])]);
}

const isProgramScope = (scope: string): boolean => (programScopes as readonly string[]).includes(scope);

export function refuseUnlessSelfServe(scopes: readonly string[]): void {
  const others = scopes.filter((scope) => !(selfServeScopes as readonly string[]).includes(scope));
  if (others.length === 0) return;
  throw new Problem(422, 'invalid_scopes', `These scopes cannot be ticked: ${others.join(', ')}.`, {
    details: {
      errors: others.map((scope) => ({
        field: 'scopes',
        code: 'invalid',
        message: `${scope} is not self-serve.`,
      })),
    },
  });
}

export interface Removal {
  readonly application: Application;
  readonly removed: readonly string[];
  /** Scopes that remain because another selected scope implies them. */
  readonly stillImplied: readonly string[];
  readonly installationsNarrowed: number;
  readonly installationsRevoked: number;
  readonly tokensRevoked: number;
}

/** Removes scopes from the application and its installations, and revokes every token that has them. */
export function removeScopes(
  services: Services,
  app: Application,
  scopes: readonly string[],
  now: number,
): Removal {
  const unknown = scopes.filter((scope) => !isKnownScope(scope));
  if (unknown.length > 0) {
    throw invalidFields(
      unknown.map((scope) => ({ field: 'scope', code: 'unknown', message: `There is no scope ${scope}.` })),
    );
  }
  const asked = new Set(canonicalScopes(scopes));
  const remaining = expandScopes(app.scopes.filter((scope) => !asked.has(scope)));
  const stillImplied = [...asked].filter((scope) => remaining.has(scope));
  const kept = app.scopes.filter((scope) => !asked.has(scope) || remaining.has(scope));
  return services.state.transaction(() => {
    const application = writeScopes(services, app, kept);
    const offered = offeredScopes(kept);
    const installs = narrowInstalls(services, app.no, offered, now);
    return {
      application,
      removed: app.scopes.filter((scope) => !kept.includes(scope)),
      stillImplied,
      ...installs,
      tokensRevoked: revokeBeyond(services, app.no, offered, now),
    };
  })();
}

function writeScopes(services: Services, app: Application, scopes: readonly string[]): Application {
  run(services.state, 'UPDATE applications SET scopes = ? WHERE no = ?', [JSON.stringify(scopes), app.no]);
  return applicationByNo(services.state, app.no);
}

function narrowInstalls(
  services: Services,
  applicationNo: number,
  offered: ReadonlySet<string>,
  now: number,
): Pick<Removal, 'installationsNarrowed' | 'installationsRevoked'> {
  const rows = all<{ no: number; scopes: string }>(
    services.state,
    'SELECT no, scopes FROM installations WHERE application_no = ? AND revoked_at IS NULL',
    [applicationNo],
  );
  let installationsNarrowed = 0;
  let installationsRevoked = 0;
  for (const row of rows) {
    const before = row.scopes.split(' ');
    const after = before.filter((scope) => offered.has(scope));
    if (after.length === before.length) continue;
    run(services.state, 'UPDATE installations SET scopes = ? WHERE no = ?', [after.join(' '), row.no]);
    if (after.length > 0) installationsNarrowed += 1;
    else {
      revokeInstallation(services, row.no, 'organization', now);
      installationsRevoked += 1;
    }
  }
  return { installationsNarrowed, installationsRevoked };
}

const within = (scopes: string, offered: ReadonlySet<string>): boolean =>
  [...expandScopes(scopes.split(' '))].every((scope) => offered.has(scope));

/** Revokes every token with a scope the application no longer has, together with its refresh tokens. */
function revokeBeyond(
  services: Services,
  applicationNo: number,
  offered: ReadonlySet<string>,
  now: number,
): number {
  const { state } = services;
  const alive = 'SELECT count(*) AS alive FROM access_tokens WHERE application_no = ? AND revoked_at IS NULL';
  const before = all<{ alive: number }>(state, alive, [applicationNo])[0]?.alive ?? 0;
  const grants = all<{ family: string; scopes: string }>(
    state,
    'SELECT family, scopes FROM grants WHERE application_no = ? AND revoked_at IS NULL',
    [applicationNo],
  );
  for (const grant of grants) {
    if (!within(grant.scopes, offered)) endFamily(services, grant.family, 'scope_removed', now);
  }
  const tokens = all<{ no: number; scopes: string }>(
    state,
    'SELECT no, scopes FROM access_tokens WHERE application_no = ? AND revoked_at IS NULL',
    [applicationNo],
  );
  for (const token of tokens) {
    if (within(token.scopes, offered)) continue;
    run(state, 'UPDATE access_tokens SET revoked_at = ? WHERE no = ?', [now, token.no]);
  }
  return before - (all<{ alive: number }>(state, alive, [applicationNo])[0]?.alive ?? 0);
}
