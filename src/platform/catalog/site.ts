import type { Services } from '../services.js';

/** Pages of the site are named in answers and served elsewhere; a sandbox names a host that nobody has. */
const nowhere = 'https://invest.example';

export const siteUrl = (services: Services, ...parts: readonly string[]): string =>
  [services.options.publicUrl ?? nowhere, ...parts.map(encodeURIComponent)].join('/');
