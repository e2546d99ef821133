import { z } from 'zod';
import { exemptionFamilies, exemptionSubtypes, securityTypes } from './vocabulary.js';

/** Schemas shared by several resources. */
export const timestamp = z.iso.datetime({ offset: true });
export const date = z.iso.date();
export const cents = z.int();
/** The description of an integer without the bounds of 2^53, which one amount has. */
export const centsSum = z
  .number()
  .refine(Number.isInteger)
  .meta({ sentAs: 'integer', description: 'A sum of amounts: exact digits, also beyond 2^53.' });
export const dollars = z
  .string()
  .regex(/^-?\d+\.\d\d$/)
  .meta({
    deprecated: true,
    description: 'Decimal dollars. Use the matching *_cents field for the exact value.',
  });
export const decimal = z.string().regex(/^-?\d+(\.\d+)?$/);

export const labelled = z.object({ type: z.string(), label: z.string() });

export const exemption = z
  .object({
    family: z.enum(exemptionFamilies),
    subtype: z.enum(exemptionSubtypes).nullable(),
    label: z.string(),
  })
  .meta({ id: 'Exemption' });

export const securityKind = z.object({ type: z.enum(securityTypes), label: z.string() });

export const listMeta = {
  has_more: z.boolean(),
  page_count: z.int().describe('Items on this page.'),
  next_cursor: z.string().nullable().describe('Null on the last page.'),
};

/** A list in the query string: comma-separated, or a repeated key. */
export const listText = z.union([z.string().max(2000), z.array(z.string().max(200)).max(100)]);
/** Values that the document describes by `sentAs`: parameters read as text, by the type of what clients send. */
export const flagText = z.enum(['true', 'false']).meta({ sentAs: 'boolean' });
export const wholeNumberText = z.string().max(20).meta({ sentAs: 'integer' });
export const cursorText = z.string().max(1000).describe('A next_cursor, unchanged.');
export const perPageText = wholeNumberText;
export const idText = z.string().min(1).max(200);
