import type { Application } from '../applications/model.js';
import { managesOrganization } from '../applications/model.js';
import {
  applicationOnlyScopes,
  canonicalScopes,
  identityScope,
  offeredScopes,
} from '../applications/scopes.js';
import { expandScopes } from '../http/scopes.js';
import type { State } from '../state/database.js';

/**
 * Whether an install or a connection made by this person may carry identity. Decided once, when it is made:
 * a later approval does not widen it and a later loss does not narrow it.
 */
export function mayCarryIdentity(state: State, app: Application, userNo: number): boolean {
  return app.piiApproved || managesOrganization(state, app.organization_no, userNo);
}

/**
 * What is granted out of what was asked; whatever the application, the tier or the person may not hand on is left
 * out without an error. Nothing asked (`undefined`) means everything declared; an empty list means nothing.
 */
export function grantableScopes(
  app: Application,
  asked: readonly string[] | undefined,
  bounds: { readonly readOnly: boolean; readonly identity: boolean },
): string[] {
  // What every application holds anyway is no grant: it would make an install out of nothing.
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

/** A further token of an install only narrows. */
export function narrowedScopes(granted: readonly string[], asked: readonly string[] | undefined): string[] {
  const held = expandScopes(granted);
  return canonicalScopes(asked ?? granted).filter((scope) => held.has(scope));
}
