import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { cursorText, date, flagText, listMeta, perPageText, timestamp } from './shapes.js';
import { questionSorts, updateKinds, updateVisibilities } from './vocabulary.js';

const scopes = ['read:public', 'read:explore'] as const;
const text = z.string().nullable();

export const companyUpdate = z
  .object({
    id: z.string(),
    type: z.literal('company_update'),
    attributes: z.object({
      kind: z.enum(updateKinds),
      title: text,
      excerpt: z.string().describe('Plain text, about 280 characters.'),
      content: z
        .string()
        .optional()
        .describe('Full plain text. Present only when a single post is requested.'),
      published_at: timestamp,
      pinned: z.boolean(),
      visibility: z.enum(updateVisibilities).nullable(),
      author: z.object({ name: text }),
      comments_count: z.int(),
      likes_count: z.int(),
      url: z.string(),
    }),
  })
  .meta({ id: 'CompanyUpdate' });

const tabPage = perPageText.optional().describe('Default 20, at most 50.');

export const listUpdates = operation({
  id: 'listCompanyUpdates',
  method: 'GET',
  path: paths.companyUpdates,
  tag: 'Companies',
  summary: 'List the published posts the viewer may read: pinned first, then newest',
  scopes,
  query: z.object({ cursor: cursorText.optional(), per_page: tabPage }),
  responses: {
    200: {
      description: 'A page of posts.',
      schema: z.object({
        data: z.array(companyUpdate),
        meta: z.object({ company: z.string(), ...listMeta }),
      }),
    },
  },
  errors: [400, 404],
});

export const getUpdate = operation({
  id: 'getCompanyUpdate',
  method: 'GET',
  path: paths.companyUpdate,
  tag: 'Companies',
  summary: 'Get a post with its full text',
  scopes,
  responses: { 200: { description: 'The post.', schema: z.object({ data: companyUpdate }) } },
  errors: [404],
});

const person = z.object({
  id: text.describe('usr_; null when the account was deleted.'),
  name: text,
  role: text.describe('founder, employee, or the role the author disclosed.'),
  team: z.boolean(),
});

const companyQuestion = z
  .object({
    id: z.string().describe('cmt_'),
    type: z.literal('company_question'),
    attributes: z.object({
      question: z.string(),
      asked_at: timestamp,
      asked_by: person,
      likes_count: z.int(),
      highlighted: z.boolean(),
      answered_by_team: z.boolean(),
      match: z
        .enum(['question', 'answer'])
        .nullable()
        .describe('Where the search matched; null without a search.'),
      answers: z.array(
        z.object({
          id: z.string().describe('cmt_'),
          answer: z.string(),
          answered_at: timestamp,
          answered_by: person,
          likes_count: z.int(),
        }),
      ),
      url: z.string(),
    }),
  })
  .meta({ id: 'CompanyQuestion' });

export const listQuestions = operation({
  id: 'listCompanyQuestions',
  method: 'GET',
  path: paths.companyQuestions,
  tag: 'Companies',
  summary: 'List questions from investors and their answers',
  scopes,
  query: z.object({
    sort: z.enum(questionSorts).optional(),
    past_raises: flagText
      .optional()
      .describe('Include questions from before the current raise. Default false.'),
    q: z
      .string()
      .optional()
      .describe('Full-text search, at most 200 bytes. Accepts "a phrase" and -word. Overrides sort.'),
    unanswered_by_team: flagText.optional(),
    cursor: cursorText.optional(),
    per_page: tabPage,
  }),
  responses: {
    200: {
      description: 'A page of questions.',
      schema: z.object({
        data: z.array(companyQuestion),
        meta: z.object({
          company: z.string(),
          sort: z.enum([...questionSorts, 'search']),
          q: text,
          unanswered_by_team: z.boolean(),
          past_raises: z.boolean(),
          questions_since: date
            .nullable()
            .describe('The day (UTC) the current raise opened; null without one and with past_raises.'),
          total: z.int(),
          ...listMeta,
        }),
      }),
    },
  },
  errors: [400, 404],
});
