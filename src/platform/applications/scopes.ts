import { allScopes, reservedScopes, scopeAliases, universalScope } from '../contract/scopes.js';
import { expandScopes } from '../http/scopes.js';

/** Granted per install, and only where the application may see who people are. */
export const identityScope = 'read:investors:pii';

/** Held by client-credentials tokens alone; a person or an installation cannot hand them on. */
export const applicationOnlyScopes: readonly string[] = ['read:referral_codes', 'write:referral_codes'];

/** Retired names replaced, doubles removed, order kept. */
export function canonicalScopes(scopes: readonly string[]): string[] {
  return [...new Set(scopes.map((scope) => scopeAliases[scope] ?? scope))];
}

/** Everything an application may hand on: what is ticked, what that implies, and what every application holds. */
export function offeredScopes(ticked: readonly string[]): ReadonlySet<string> {
  const offered = new Set([...expandScopes(ticked), universalScope]);
  // A reserved scope that stands on an application by accident is still never given out.
  for (const scope of reservedScopes) offered.delete(scope);
  return offered;
}

/** `scope` parameters are space-separated; an empty one asks for nothing in particular. */
export const splitScopes = (text: string | null | undefined): string[] =>
  (text ?? '').split(' ').filter((scope) => scope !== '');

export const isKnownScope = (scope: string): boolean => allScopes.includes(scope) || scope in scopeAliases;
