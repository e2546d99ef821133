import { z } from 'zod';
import { flagText, perPageText } from './shapes.js';

/** Pagination parameters of every listing with `cursor` and `per_page`. */
export const pageQuery = {
  cursor: z.string().max(500).optional().describe('A next_cursor, unchanged, with the same filters.'),
  per_page: perPageText.optional().describe('Default 25, at most 100.'),
} as const;

export const pageMeta = z.object({
  has_more: z.boolean(),
  page_count: z.int().describe('Records on this page.'),
  next_cursor: z.string().nullable().describe('Null on the last page.'),
});

export const timestamp = z.string().describe('ISO 8601, UTC.');
export const dollars = z.string().describe('Whole dollars.');
export const flag = flagText;
