import type { Target } from './target.js';

const conformance = (...names: readonly string[]) => names.map((name) => `test/conformance/${name}.test.ts`);
const platform = (...names: readonly string[]) => names.map((name) => `test/platform/${name}.test.ts`);
const target = (name: string, ...tests: readonly (readonly string[])[]): Target => ({
  file: `src/platform/${name}.ts`,
  tests: tests.flat(),
});

const oauth = conformance(
  ...['oauth-tokens', 'oauth-refresh', 'oauth-application-tokens', 'oauth-revocation', 'oauth-authorize'],
);
const hooks = [...conformance('webhook-endpoints'), ...platform('webhooks/url-policy')];

/** Guards, limits, windows and states. The fastest tests stand first: a run ends with the first failure. */
export const platformTargets: readonly Target[] = [
  target('http/steps/guarded', conformance('referrals', 'applications', 'users')),
  target('http/steps/identify', platform('http/identify'), conformance('catalog-limits'), oauth),
  target(
    'http/steps/spend',
    platform('http/server'),
    conformance('conventions', 'token-limits', 'catalog-limits'),
  ),
  target('http/steps/choose-version', conformance('versions', 'conventions')),
  target('http/steps/refuse-removed', conformance('versions', 'users', 'deals')),
  target('http/steps/validate', platform('http/server'), conformance('errors', 'referrals')),
  target('http/cors', platform('http/server'), oauth),
  target('http/idempotent', conformance('referrals', 'errors', 'checkout-sessions')),
  target(
    'http/paging',
    conformance('paging', 'conventions', 'campaigns', 'member-list', 'explore-offerings'),
  ),
  target('http/page-cursor', conformance('paging', 'campaigns', 'member-list')),
  target('oauth/codes', oauth, conformance('applications')),
  target('oauth/pkce', platform('oauth/primitives'), oauth),
  target('oauth/redirect-uris', platform('oauth/primitives'), oauth, conformance('applications')),
  target('oauth/rotate', oauth, conformance('applications'), platform('oauth/rotation')),
  target('oauth/pairs', oauth, platform('oauth/rotation')),
  target('oauth/grants', oauth),
  target('oauth/review-gate', conformance('applications')),
  target('applications/scope-edits', conformance('applications', 'attribution')),
  target('applications/standing', conformance('applications')),
  target('installations/grantable', conformance('installations', 'scopes')),
  target('installations/targets', conformance('installations')),
  target('investments/retention', conformance('investments')),
  target('investments/cursor', platform('investments/cursor'), conformance('investments')),
  target('investments/filters', conformance('investments')),
  target('webhooks/url-policy', hooks),
  target('webhooks/blocked-addresses', hooks),
  target('webhooks/reach', conformance('webhook-endpoints')),
  target('webhooks/delivery-plan', platform('webhooks/delivery-model', 'webhooks/delivery-loop')),
  target('members/moderate', conformance('moderate-members', 'member-changes')),
  target(
    'members/join-and-leave',
    conformance('moderate-members', 'member-changes', 'join-sessions', 'join-page', 'member-invitations'),
  ),
  target('sessions/lifecycle', conformance('checkout-sessions')),
  target('join-sessions/transitions', conformance('join-sessions', 'join-page', 'member-invitations')),
  target('intents/decide', conformance('investment-intents')),
  target('intents/propose', conformance('investment-intents')),
  target(
    'catalog/visibility',
    conformance('offering-visibility', 'explore-offerings', 'company-record', 'company-search'),
  ),
  target('catalog/round-lifecycle', conformance('offering-events')),
];
