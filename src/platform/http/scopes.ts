import { impliedScopes, scopeAliases } from '../contract/scopes.js';

/** Resolves aliases and adds every implied scope, transitively. */
export function expandScopes(scopes: readonly string[]): ReadonlySet<string> {
  const expanded = new Set<string>();
  const open = [...scopes];
  for (let scope = open.pop(); scope !== undefined; scope = open.pop()) {
    const meant = scopeAliases[scope] ?? scope;
    if (meant === '' || expanded.has(meant)) continue;
    expanded.add(meant);
    open.push(...(impliedScopes[meant] ?? []));
  }
  return expanded;
}
