import { z } from 'zod';
import { paths } from '../../wire/paths.js';
import { operation } from './operation.js';
import { decimal, listText } from './shapes.js';

const scopes = ['read:public', 'read:explore'] as const;
const text = z.string().nullable();

const link = z.object({ text: z.string(), url: z.string() });
const links = z.array(link).optional();

const storyBlock = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('heading'), level: z.int().min(1).max(6), text: z.string(), links }),
    z.object({ type: z.literal('paragraph'), text: z.string(), links }),
    z.object({
      type: z.literal('list'),
      ordered: z.boolean(),
      start: z
        .int()
        .min(2)
        .optional()
        .describe('First number of an ordered list. Present only when it is above 1.'),
      items: z.array(z.string()),
      links,
    }),
    z.object({
      type: z.literal('image'),
      url: z.string(),
      alt: text,
      filename: text,
      link: z.string().optional().describe('Present only when the image is a hyperlink.'),
    }),
    z.object({
      type: z.literal('video'),
      url: z.string(),
      provider: z.enum(['youtube', 'vimeo', 'wistia', 'loom', 'upload', 'other']),
    }),
    z.object({ type: z.literal('footnote'), number: z.int(), text: z.string(), links }),
  ])
  .meta({ id: 'StoryBlock' });
export type StoryBlock = z.infer<typeof storyBlock>;

const perks = z.object({
  offering_id: z.string(),
  currency: z.string(),
  described_in_pitch: z
    .boolean()
    .describe(
      'Heuristic: true when the tier list looks like a placeholder because the tiers are shown in images.',
    ),
  tiers: z.array(z.object({ qualifying_amount: decimal.nullable(), description: z.string() })),
});

export const getPitch = operation({
  id: 'getCompanyPitch',
  method: 'GET',
  path: paths.companyPitch,
  tag: 'Companies',
  summary: 'Get the story of a company and the perks of its round',
  scopes,
  query: z.object({ sections: listText.optional() }),
  responses: {
    200: {
      description: 'The pitch.',
      schema: z.object({
        data: z
          .object({
            id: z.string().describe('co_'),
            type: z.literal('company_pitch'),
            attributes: z.object({
              offering_id: text,
              title: z.string(),
              url: z.string(),
              authored_by: z.enum(['company', 'wefunder']),
              disclaimer: text.describe('Null when the company is the author.'),
              story: z
                .object({
                  blocks: z.array(storyBlock),
                  image_count: z.int(),
                  video_count: z.int(),
                  inline_images_omitted: z.int(),
                  character_count: z.int(),
                })
                .optional(),
              perks: perks
                .nullable()
                .optional()
                .describe('Null without a visible round, and when the round has no perks.'),
            }),
          })
          .meta({ id: 'CompanyPitch' }),
      }),
    },
  },
  errors: [400, 404],
});
