import { allScopes, reservedScopes, scopeAliases, universalScope } from '../contract/scopes.js';
import { expandScopes } from '../http/scopes.js';

/** Granted per installation, and only to an application approved to see the identity of investors. */
export const identityScope = 'read:investors:pii';

/** Returns the scopes with retired names replaced and duplicates removed, in the same order. */
export function canonicalScopes(scopes: readonly string[]): string[] {
  return [...new Set(scopes.map((scope) => scopeAliases[scope] ?? scope))];
}

/** Returns every scope an application may be granted: the selected ones, the implied ones and `read:public`. */
export function offeredScopes(ticked: readonly string[]): ReadonlySet<string> {
  const offered = new Set([...expandScopes(ticked), universalScope]);
  // Reserved scopes are never granted, even if an application lists one by mistake.
  for (const scope of reservedScopes) offered.delete(scope);
  return offered;
}

/** Splits a space-separated `scope` parameter. Returns an empty list for a missing or blank one. */
export const splitScopes = (text: string | null | undefined): string[] =>
  (text ?? '').split(' ').filter((scope) => scope !== '');

export const isKnownScope = (scope: string): boolean => allScopes.includes(scope) || scope in scopeAliases;
