import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';

const tag = 'Developer portal';
const page = { 200: { description: 'A page for a person.' } } as const;
const form = { body: z.record(z.string(), z.string()), bodyType: 'form' as const };
const moved = { 303: { description: 'Back to the page.' } } as const;

export const openPortal = operation({
  id: 'openPortal',
  method: 'GET',
  path: paths.portal,
  tag,
  summary: 'The applications of the organizations a person belongs to',
  scopes: null,
  responses: page,
  errors: [],
});

export const answerPortal = operation({
  id: 'answerPortal',
  method: 'POST',
  path: paths.portal,
  tag,
  summary: 'Sign in or out; accept the attribution terms',
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
  summary: 'One application: keys, scopes, installs, webhook endpoints and their deliveries',
  scopes: null,
  responses: { ...page, ...moved },
  errors: [404],
});

export const answerPortalApplication = operation({
  id: 'answerPortalApplication',
  method: 'POST',
  path: paths.portalApplication,
  tag,
  summary: 'Send a delivery again',
  scopes: null,
  ...form,
  responses: { ...page, ...moved },
  errors: [400, 403, 404, 409],
});
