import { lookup } from '../../domain/lookup.js';

/** Scopes a developer may select for an application without approval. */
export const selfServeScopes = [
  'read:explore',
  'read:profile',
  'write:profile',
  'read:profile:follows',
  'write:follows',
  'write:comments',
  'read:investments',
  'read:companies',
  'read:webhooks',
  'write:webhooks',
  'read:referral_codes',
  'write:referral_codes',
  'read:installations',
  'write:installations',
  'read:investors:pii',
  'read:syndicates',
  'write:syndicates',
  'read:invite_links',
  'write:invite_links',
  'read:investment_sessions',
  'write:investment_sessions',
  'write:syndicate_members',
] as const;

/** Granted to every application; it cannot be selected. */
export const universalScope = 'read:public';

/** Declared scopes that no operation uses yet. */
export const declaredScopes = [
  'write:investments',
  'read:contracts',
  'write:contracts',
  'read:perks',
  'write:perks',
  'read:tax_documents',
] as const;

/** Scopes the platform grants to the partners of a program. */
export const programScopes = [
  'write:companies',
  'read:files',
  'write:files',
  'read:investors:contacts',
  'read:attribution:aggregate',
  'read:attribution:anonymized',
  'read:attribution:full',
  'write:attribution',
] as const;

/** Never granted to a partner application, by consent or by installation. */
export const reservedScopes = ['read:mcp', 'admin:read', 'admin:write', 'admin:attribution'] as const;

/** Held by client-credentials tokens alone; users and installations cannot grant them. */
export const applicationOnlyScopes: readonly string[] = ['read:referral_codes', 'write:referral_codes'];

/** The self-serve scopes that users and installations can grant. */
export const grantedScopes = selfServeScopes.filter((scope) => !applicationOnlyScopes.includes(scope));

/** What a bearer credential stands for. */
export const credentialKinds = [
  'user',
  'installation',
  'syndicate_key',
  'application',
  'publishable',
] as const;
export type CredentialKind = (typeof credentialKinds)[number];

/** Returns whether any credential of the kind can hold the scope. */
export function canHold(kind: CredentialKind, scope: string): boolean {
  if (scope === universalScope) return true;
  if (kind === 'publishable') return false;
  return applicationOnlyScopes.includes(scope) === (kind === 'application');
}

export const scopeAliases = lookup({
  'read:offerings': 'read:companies',
  'write:offerings': 'write:companies',
  'read:follows': 'read:profile:follows',
});

/**
 * The scopes each scope directly implies. Callers compute the transitive closure.
 * `write:comments` has no read counterpart. `write:follows` implies reading the follows but not the profile.
 */
export const impliedScopes = lookup<readonly string[]>({
  'read:profile': ['read:profile:follows'],
  'write:profile': ['read:profile'],
  'write:follows': ['read:profile:follows'],
  'write:webhooks': ['read:webhooks'],
  'write:referral_codes': ['read:referral_codes'],
  'write:installations': ['read:installations'],
  'write:syndicates': ['read:syndicates', 'write:syndicate_members'],
  'write:invite_links': ['read:invite_links'],
  'write:investment_sessions': ['read:investment_sessions'],
  'write:companies': ['read:companies'],
  'write:files': ['read:files'],
  'write:contracts': ['read:contracts'],
  'write:perks': ['read:perks'],
  'write:investments': ['read:investments'],
  'read:attribution:full': ['read:attribution:anonymized', 'read:attribution:aggregate'],
});

export const allScopes: readonly string[] = [
  universalScope,
  ...selfServeScopes,
  ...declaredScopes,
  ...programScopes,
  ...reservedScopes,
];
