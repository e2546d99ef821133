import { type Application, managesOrganization } from '../applications/model.js';
import { canonicalScopes, identityScope, offeredScopes } from '../applications/scopes.js';
import { applicationOnlyScopes } from '../contract/scopes.js';
import { expandScopes } from '../http/scopes.js';
import type { State } from '../state/database.js';

/**
 * Returns whether an installation or connection created by this user may include identity. This is decided at creation:
 * a later approval does not widen it, and losing the approval does not narrow it.
 */
export function mayIncludeIdentity(state: State, app: Application, userNo: number): boolean {
  return app.piiApproved || managesOrganization(state, app.organization_no, userNo);
}

/**
 * Returns the scopes to grant. Requested scopes that the application, the tier or the user cannot grant are dropped
 * without an error. `undefined` requests every scope of the application; an empty list requests none.
 */
export function grantableScopes(
  app: Application,
  asked: readonly string[] | undefined,
  bounds: { readonly readOnly: boolean; readonly identity: boolean },
): string[] {
  // `read:public` alone is not a grant: every application has it, so it would allow an installation without scopes.
  const offered = expandScopes(app.scopes);
  const givable = offeredScopes(app.scopes);
  return canonicalScopes(asked ?? app.scopes).filter(
    (scope) =>
      offered.has(scope) &&
      givable.has(scope) &&
      !applicationOnlyScopes.includes(scope) &&
      (!bounds.readOnly || scope.startsWith('read:')) &&
      (scope !== identityScope || bounds.identity),
  );
}

/** Returns the requested scopes that the installation has: another token can only narrow them. */
export function narrowedScopes(granted: readonly string[], asked: readonly string[] | undefined): string[] {
  const allowed = expandScopes(granted);
  return canonicalScopes(asked ?? granted).filter((scope) => allowed.has(scope));
}
