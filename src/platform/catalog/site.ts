import type { Services } from '../services.js';

/** Host for links to pages of the site, which this server does not serve. `.example` is a reserved domain. */
const nowhere = 'https://invest.example';

export const siteUrl = (services: Services, ...parts: readonly string[]): string =>
  [services.options.publicUrl ?? nowhere, ...parts.map(encodeURIComponent)].join('/');
