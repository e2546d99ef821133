import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';

const tag = 'Developer portal';
const page = { 200: { description: 'An HTML page.' } } as const;
const form = { body: z.record(z.string(), z.string()), bodyType: 'form' as const };
const moved = { 303: { description: 'Redirect back to the page.' } } as const;

export const openPortal = operation({
  id: 'openPortal',
  method: 'GET',
  path: paths.portal,
  tag,
  summary: 'Open the developer portal: applications of the user’s organizations',
  scopes: null,
  responses: page,
  errors: [],
});

export const answerPortal = operation({
  id: 'answerPortal',
  method: 'POST',
  path: paths.portal,
  tag,
  summary: 'Sign in, sign out or accept the attribution terms',
  scopes: null,
  ...form,
  responses: { ...page, ...moved },
  errors: [400, 403, 422],
});

export const openPortalApplication = operation({
  id: 'openPortalApplication',
  method: 'GET',
  path: paths.portalApplication,
  tag,
  summary: 'Open an application: keys, scopes, installations, webhook endpoints and deliveries',
  scopes: null,
  responses: { ...page, ...moved },
  errors: [404],
});

export const answerPortalApplication = operation({
  id: 'answerPortalApplication',
  method: 'POST',
  path: paths.portalApplication,
  tag,
  summary: 'Resend a delivery',
  scopes: null,
  ...form,
  responses: { ...page, ...moved },
  errors: [400, 403, 404, 409],
});
