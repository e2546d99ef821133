import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { pageMeta, pageQuery, timestamp } from './pages.js';

export const joinSessionStates = ['pending', 'in_progress', 'completed', 'expired', 'canceled'] as const;
export type JoinSessionState = (typeof joinSessionStates)[number];

/** A link is good for three days unless asked otherwise, for thirty at most. */
export const joinSessionHours = { default: 72, max: 720 } as const;

const metadata = z
  .record(z.string().max(40), z.union([z.string().max(500), z.number(), z.boolean(), z.null()]))
  .refine((value) => Object.keys(value).length <= 50, 'at most 50 keys');

export const joinSessionResource = z
  .object({
    id: z.string().meta({ example: 'join_2bX…' }),
    type: z.literal('join_session'),
    attributes: z.object({
      status: z.enum(joinSessionStates).describe('canceled: declined by the person.'),
      mode: z.literal('hosted'),
      syndicate: z.string(),
      email: z.string(),
      name: z.string().nullable(),
      url: z.string().describe('Where the person joins or declines. Good for this one email only.'),
      success_url: z.string().nullable(),
      member: z.string().nullable().describe('The member it led to.'),
      metadata: metadata.nullable(),
      created_at: timestamp,
      expires_at: timestamp,
    }),
  })
  .meta({ id: 'JoinSession' });

export type JoinSessionResource = z.infer<typeof joinSessionResource>;

const tag = 'Join sessions';
const scopes = ['write:syndicate_members'] as const;

/** http only where nothing leaves the machine. */
function leadsSomewhere(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
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
      .refine(leadsSomewhere, 'must be an https address')
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
  summary: 'Mint a hosted link by which one person joins',
  description:
    'Needs operator permission and an active installation of the application on the syndicate. While a session of ' +
    'this installation for the same email is open, that one is answered again.',
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
  summary: 'Sessions minted by this installation of the application',
  description:
    'Newest first. Sessions of other applications, and of an earlier installation, are not among them.',
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

const page = { 200: { description: 'A page (HTML)' } } as const;

export const openJoinPage = operation({
  id: 'openJoinPage',
  method: 'GET',
  path: paths.joinPage,
  tag,
  summary: 'The page behind an invitation or a join session',
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
  responses: { ...page, 303: { description: 'Back to the page, or on to the application' } },
  errors: [400, 403, 404, 410, 422],
});
