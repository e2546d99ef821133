import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { pageMeta, pageQuery, timestamp } from './pages.js';

const joinSessionStates = ['pending', 'in_progress', 'completed', 'expired', 'canceled'] as const;
export type JoinSessionState = (typeof joinSessionStates)[number];

/** Lifetime of a join link: three days by default, thirty days at most. */
const joinSessionHours = { default: 72, max: 720 } as const;

const metadata = z
  .record(z.string().max(40), z.union([z.string().max(500), z.number(), z.boolean(), z.null()]))
  .refine((value) => Object.keys(value).length <= 50, 'at most 50 keys');

const joinSessionResource = z
  .object({
    id: z.string().meta({ example: 'join_2bX…' }),
    type: z.literal('join_session'),
    attributes: z.object({
      status: z.enum(joinSessionStates).describe('canceled means the person declined.'),
      mode: z.literal('hosted'),
      syndicate: z.string(),
      email: z.string(),
      name: z.string().nullable(),
      url: z.string().describe('Page where the person joins or declines. Valid only for this email.'),
      success_url: z.string().nullable(),
      member: z.string().nullable().describe('The member created when the session completed.'),
      metadata: metadata.nullable(),
      created_at: timestamp,
      expires_at: timestamp,
    }),
  })
  .meta({ id: 'JoinSession' });

export type JoinSessionResource = z.infer<typeof joinSessionResource>;

const tag = 'Join sessions';
const scopes = ['write:syndicate_members'] as const;

/** Returns whether a URL is https, or http on a loopback host, without a user name or fragment. */
function isAllowedSuccessUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null) return false;
  const loopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return (
    (url.protocol === 'https:' || (url.protocol === 'http:' && loopback)) &&
    url.username === '' &&
    url.hash === ''
  );
}

export const createJoinSessionBody = z.object({
  join_session: z.object({
    email: z.email().max(254),
    name: z.string().trim().min(1).max(120).optional(),
    mode: z.literal('hosted', { error: 'only hosted is supported' }).default('hosted'),
    success_url: z
      .string()
      .max(2000)
      .refine(isAllowedSuccessUrl, 'must be an https address')
      .optional()
      .meta({ format: 'uri' }),
    expires_in_hours: z.int().min(1).max(joinSessionHours.max).default(joinSessionHours.default),
    metadata: metadata.optional(),
  }),
});

export const createJoinSession = operation({
  id: 'createJoinSession',
  method: 'POST',
  path: paths.joinSessions,
  tag,
  summary: 'Create a hosted link with which one person joins',
  description:
    'Requires operator permission and an active installation of the application on the syndicate. While this ' +
    'installation has an open session for the same email, that session is returned.',
  scopes,
  body: createJoinSessionBody,
  beta: true,
  responses: { 201: { description: 'The session', schema: z.object({ data: joinSessionResource }) } },
  errors: [403, 404, 422],
});

export const listJoinSessions = operation({
  id: 'listJoinSessions',
  method: 'GET',
  path: paths.joinSessions,
  tag,
  summary: 'List the sessions created by this installation of the application',
  description: 'Newest first. Sessions of other applications and of earlier installations are not included.',
  scopes,
  query: z.object({
    status: z.enum(joinSessionStates).optional(),
    email: z.string().max(254).optional(),
    ...pageQuery,
  }),
  beta: true,
  responses: {
    200: {
      description: 'Sessions',
      schema: z.object({ data: z.array(joinSessionResource), meta: pageMeta }),
    },
  },
  errors: [400, 403, 404],
});

const page = { 200: { description: 'An HTML page' } } as const;

export const openJoinPage = operation({
  id: 'openJoinPage',
  method: 'GET',
  path: paths.joinPage,
  tag,
  summary: 'Open the page of an invitation or a join session',
  scopes: null,
  responses: page,
  errors: [403, 404, 410],
});

export const answerJoinPage = operation({
  id: 'answerJoinPage',
  method: 'POST',
  path: paths.joinPage,
  tag,
  summary: 'Sign in, join, decline, withdraw or leave',
  scopes: null,
  bodyType: 'form',
  body: z.record(z.string(), z.string()),
  responses: { ...page, 303: { description: 'Redirect back to the page, or on to the success_url' } },
  errors: [400, 403, 404, 410, 422],
});
