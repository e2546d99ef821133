/** Every path also answers below this prefix. */
export const legacyPrefix = '/api/v2';

export const paths = {
  token: '/oauth/token',
  authorize: '/oauth/authorize',
  /** Stands in for the separate consent host of the sandbox realm. */
  sandboxAuthorize: '/sandbox/oauth/authorize',
  revoke: '/oauth/revoke',
  discovery: '/.well-known/oauth-authorization-server',
  investments: '/investments',
  investment: '/investments/{id}',
  offeringStats: '/offerings/{offering_id}/stats',
  companyChanges: '/companies/{company_id}/investments/changes',
  installations: '/installations',
  eligibleInstallations: '/installations/eligible',
  installation: '/installations/{external_id}',
  installationTokens: '/installations/{external_id}/tokens',
  webhookEndpoints: '/webhook_endpoints',
  webhookEndpoint: '/webhook_endpoints/{external_id}',
  me: '/users/me',
  apiDescription: '/openapi.json',
  docs: '/docs',
  applications: '/developer/applications',
  application: '/developer/applications/{id}',
  applicationScopes: '/developer/applications/{id}/scopes',
  applicationScope: '/developer/applications/{id}/scopes/{scope}',
  applicationReview: '/developer/applications/{id}/review',
  applicationDisable: '/developer/applications/{id}/disable',
} as const;
