import type { Section } from '../measures.js';
import { besideOurs, listedBy } from './into-postgres.js';

export const postgres: Section = {
  name: 'postgres',
  each: false,
  says:
    'A first listing over loopback HTTP into a separate PostgreSQL, compared with the best set-based upsert: the text of a page ' +
    'passed unchanged, expanded by jsonb_array_elements, one statement and one commit a page with its ' +
    'cursor, the same columns in one table, no secondary index.',
  measure: (scale) =>
    besideOurs(scale, Math.min(100_000, ...scale.records), {
      name: 'set-based upsert',
      ratio: 'speed ÷ set-based upsert',
      least: 0.8,
      seconds: (feed, server) => listedBy('postgres-floor', scale, feed, server),
    }),
};
