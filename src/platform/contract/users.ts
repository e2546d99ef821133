import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { followedCompany } from './companies.js';
import { operation } from './operation.js';
import { cursorText, listMeta, perPageText, timestamp } from './shapes.js';

const text = z.string().nullable();

export const user = z
  .object({
    id: z.string().describe('usr_'),
    type: z.literal('user'),
    attributes: z
      .object({
        email: z.string(),
        username: z.string(),
        name: z.string(),
        full_name: z.string(),
        bio: text,
        city: text,
        country: text,
        avatar_url: text,
        created_at: timestamp,
        certified_at: timestamp.nullable(),
      })
      .optional()
      .describe('Omitted without read:profile.'),
  })
  .meta({ id: 'User' });

export const getMe = operation({
  id: 'getMe',
  method: 'GET',
  path: paths.me,
  tag: 'Users',
  summary: 'Get the basic profile; without read:profile, only the id',
  scopes: [],
  callers: ['user'],
  responses: { 200: { description: 'The user of the token.', schema: z.object({ data: user }) } },
  errors: [403],
});

export const listMyCompanies = operation({
  id: 'listMyCompanies',
  method: 'GET',
  path: paths.myCompanies,
  tag: 'Users',
  summary: 'List the companies the user helps manage; not paginated',
  scopes: ['read:companies'],
  callers: ['user'],
  responses: {
    200: {
      description: 'Every company of the user.',
      schema: z.object({
        data: z.array(
          z
            .object({
              id: z.string().describe('co_'),
              type: z.literal('company'),
              attributes: z.object({
                name: z.string(),
                tagline: text,
                url: text,
                roles: z.array(z.string()).describe('founder or employee. More values may be added.'),
                raising: z.boolean(),
              }),
            })
            .meta({ id: 'MyCompany' }),
        ),
        meta: z.object({ count: z.int(), ...listMeta }),
      }),
    },
  },
  errors: [403],
});

export const listMyFollows = operation({
  id: 'listMyFollows',
  method: 'GET',
  path: paths.myFollows,
  tag: 'Users',
  summary: 'List followed companies, newest first',
  description:
    'Only write:follows lists all followed companies. Other scopes omit companies that opted out of promotion.',
  scopes: ['read:profile', 'read:profile:follows', 'write:follows', 'read:mcp'],
  callers: ['user'],
  query: z.object({ cursor: cursorText.optional(), per_page: perPageText.optional() }),
  responses: {
    200: {
      description: 'A page of companies.',
      schema: z.object({ data: z.array(followedCompany), meta: z.object(listMeta) }),
    },
  },
  errors: [400, 403],
});

const followState = z.object({
  data: z
    .object({
      id: z.string().describe('co_'),
      type: z.literal('follow_state'),
      attributes: z.object({ followed: z.boolean(), changed: z.boolean() }),
    })
    .meta({ id: 'FollowState' }),
});

export const followCompany = operation({
  id: 'followCompany',
  method: 'PUT',
  path: paths.myFollow,
  tag: 'Users',
  summary: 'Follow a company; repeating the request changes nothing',
  scopes: ['write:follows'],
  callers: ['user'],
  responses: { 200: { description: 'Followed.', schema: followState } },
  errors: [403, 404],
});

export const unfollowCompany = operation({
  id: 'unfollowCompany',
  method: 'DELETE',
  path: paths.myFollow,
  tag: 'Users',
  summary: 'Stop following a company, even if it is no longer visible',
  scopes: ['write:follows'],
  callers: ['user'],
  responses: { 200: { description: 'Not followed.', schema: followState } },
  errors: [403, 404],
});
