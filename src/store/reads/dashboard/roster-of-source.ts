import type { AliasedRawBuilder } from 'kysely';
import { sql } from '../../query-builder.js';
import type { RosterView } from '../views.js';

type Shown =
  | ('source' | 'id' | 'company_id' | 'offering_id' | 'investor_id' | 'status' | 'applied_at' | 'observed_at')
  | ('currency' | 'committed_cents' | 'raised_cents' | 'company_name' | 'round_name')
  | ('name' | 'legal_name' | 'email');

/** Holds for every row. SQLite otherwise takes a source for most of the rows, and reads those of all sources. */
const bySource = sql`AND (r.applied_at >= '' OR r.applied_at IS NULL)`;

/**
 * The rows of the view `roster` that belong to one source, with the columns of the dashboard. The view finds the source by its
 * name, so PostgreSQL cannot read these rows in the order of an index: for a page of a small source it read the rows of all.
 * `isByTime` says that the query orders them by `applied_at`, which an index does.
 */
export const rosterOfSource = (
  source: string,
  isByTime: boolean,
): AliasedRawBuilder<Pick<RosterView, Shown>, 'r'> =>
  sql<Pick<RosterView, Shown>>`(
    SELECT s.name AS source, r.id, r.company_id, r.offering_id, r.investor_id, r.status, r.applied_at, r.observed_at,
           r.currency, r.committed_cents, r.raised_cents, i.name, i.legal_name, i.email,
           (SELECT c.name FROM company_rows c WHERE c.source_no = r.source_no AND c.id = r.company_id) AS company_name,
           (SELECT o.name FROM offering_rows o WHERE o.source_no = r.source_no AND o.id = r.offering_id) AS round_name
    FROM investment_rows r
    JOIN sources s ON s.no = r.source_no
    LEFT JOIN identity_rows i ON i.row_no = r.row_no
    WHERE s.listed_at IS NOT NULL AND r.source_no = (SELECT no FROM sources WHERE name = ${source})
    ${isByTime ? sql`` : bySource}
  )`.as<'r'>(sql.ref('r'));
