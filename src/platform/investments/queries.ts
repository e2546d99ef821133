import type { State } from '../state/database.js';
import { all, one } from '../state/statements.js';
import type { Filters } from './filters.js';
import type { View } from './view.js';

/** A row of a page before it is rendered for the caller. */
export interface PageRow {
  readonly investment_no: number;
  readonly id: string;
  readonly content: string;
  readonly identity: string;
  readonly observed_at: number;
}

export interface FeedRow extends PageRow {
  readonly seq: number;
  readonly shown: number;
  readonly reason: string;
}

/**
 * Every query walks one index from the start of the page and stops at its end, so its cost does not depend on the number
 * of records or the position of the page. INDEXED BY makes SQLite fail instead of choosing a slow scan.
 */
const listColumns = 'p.investment_no, i.id, p.content, p.identity, p.observed_at';
const listFrom = (index: string) =>
  `SELECT ${listColumns} FROM publications p INDEXED BY ${index} JOIN investments i ON i.no = p.investment_no`;
const listEnd = 'AND p.investment_no > :after ORDER BY p.investment_no LIMIT :limit';
const narrowed = `AND (:offering IS NULL OR p.offering_no = :offering) AND (:investor IS NULL OR p.investor_no = :investor)
  AND (:status IS NULL OR p.status = :status)`;
const notOwn = 'AND (:person IS NULL OR p.investor_no <> :person)';

export const listingSql = {
  company: `${listFrom('publications_company')} WHERE p.company_no = :company AND p.visible = 1 ${notOwn} ${listEnd}`,
  status: `${listFrom('publications_status')} WHERE p.company_no = :company AND p.visible = 1 AND p.status = :status ${notOwn} ${listEnd}`,
  offering: `${listFrom('publications_offering')} WHERE p.offering_no = :offering AND p.company_no = :company AND p.visible = 1 ${narrowed} ${notOwn} ${listEnd}`,
  investor: `${listFrom('publications_investor')} WHERE p.investor_no = :investor AND p.company_no = :company AND p.visible = 1 ${narrowed} ${notOwn} ${listEnd}`,
  own: `${listFrom('publications_investor')} JOIN companies c ON c.no = p.company_no
    WHERE p.investor_no = :person AND c.realm = :realm AND p.gone = 0 AND (:company IS NULL OR p.company_no = :company)
    ${narrowed} ${listEnd}`,
} as const;

const feedFrom = (index: string) =>
  `SELECT l.investment_no, i.id, p.content, p.identity, l.observed_at, l.seq, l.shown, l.reason
   FROM ledger l INDEXED BY ${index} JOIN investments i ON i.no = l.investment_no
   JOIN publications p ON p.investment_no = l.investment_no`;
const feedEnd = 'AND l.seq > :after ORDER BY l.seq LIMIT :limit';
const feedNotOwn = 'AND (:person IS NULL OR l.investor_no <> :person)';

/** Rows with `departed` (the investment left the offering) are visible only to readers of that offering. */
export const feedSql = {
  company: `${feedFrom('ledger_company')} WHERE l.company_no = :company AND l.audience = 'company' AND l.departed = 0 ${feedNotOwn} ${feedEnd}`,
  offering: `${feedFrom('ledger_offering')} WHERE l.offering_no = :offering AND l.audience = 'company' AND l.company_no = :company
    AND (:investor IS NULL OR l.investor_no = :investor) ${feedNotOwn} ${feedEnd}`,
  investor: `${feedFrom('ledger_investor')} WHERE l.investor_no = :investor AND l.audience = 'company' AND l.company_no = :company
    AND l.departed = 0 ${feedNotOwn} ${feedEnd}`,
  own: `${feedFrom('ledger_investor')} JOIN companies c ON c.no = l.company_no
    WHERE l.investor_no = :person AND l.audience = 'investor' AND c.realm = :realm
    AND (:company IS NULL OR l.company_no = :company)
    AND CASE WHEN :offering IS NULL THEN l.departed = 0 ELSE l.offering_no = :offering END ${feedEnd}`,
} as const;

/** Founders never see these statuses, so a company listing filtered by one is empty without a query. */
const hiddenStatuses: ReadonlySet<string> = new Set(['canceled', 'converted']);

/** Returns up to `limit` records after an investment, ordered by investment, merged over all parts of the view. */
export function listAfter(
  state: State,
  view: View,
  filters: Filters,
  after: number,
  limit: number,
): PageRow[] {
  const name =
    filters.investor !== null
      ? 'investor'
      : filters.offering !== null
        ? 'offering'
        : filters.status !== null
          ? 'status'
          : 'company';
  const bind = { ...parametersOf(view, filters), status: filters.status, after, limit };
  const rows = companiesIn(view, filters)
    .filter(() => filters.status === null || !hiddenStatuses.has(filters.status))
    .flatMap((company) => all<PageRow>(state, listingSql[name], { ...bind, company }));
  rows.push(...ownRows<PageRow>(state, listingSql.own, view, filters, bind));
  return rows.sort((one, other) => one.investment_no - other.investment_no).slice(0, limit);
}

/** Returns up to `limit` changes after a feed position, in feed order, merged over all parts of the view. */
export function changesAfter(
  state: State,
  view: View,
  filters: Filters,
  after: number,
  limit: number,
): FeedRow[] {
  const name = filters.offering !== null ? 'offering' : filters.investor !== null ? 'investor' : 'company';
  const bind = { ...parametersOf(view, filters), after, limit };
  const rows = companiesIn(view, filters).flatMap((company) =>
    all<FeedRow>(state, feedSql[name], { ...bind, company }),
  );
  rows.push(...ownRows<FeedRow>(state, feedSql.own, view, filters, bind));
  return rows.sort((one, other) => one.seq - other.seq).slice(0, limit);
}

const parametersOf = (view: View, filters: Filters) => ({
  offering: filters.offering,
  investor: filters.investor,
  person: view.person,
  realm: view.realm,
});

const companiesIn = (view: View, filters: Filters): readonly number[] =>
  filters.company === null ? view.companies : view.companies.filter((no) => no === filters.company);

function ownRows<Row>(
  state: State,
  sql: string,
  view: View,
  filters: Filters,
  bind: Readonly<Record<string, string | number | null>>,
): Row[] {
  if (view.person === null || (filters.investor !== null && filters.investor !== view.person)) return [];
  return all<Row>(state, sql, { ...bind, company: filters.company });
}

/** Returns the feed position just before a time. */
export function placeBefore(state: State, time: number, head: number): number {
  const next = one<{ seq: number }>(
    state,
    'SELECT seq FROM ledger WHERE observed_at >= ? ORDER BY observed_at, seq LIMIT 1',
    [time],
  );
  return next === undefined ? head : next.seq - 1;
}

export interface FeedHead {
  readonly head: number;
  /** Positions before this one were issued before the sandbox was reset. */
  readonly start: number;
  readonly observed_at: number;
  readonly cursor_key: Buffer;
}

export function feedHead(state: State): FeedHead {
  const row = one<FeedHead>(state, 'SELECT head, start, observed_at, cursor_key FROM feed');
  if (row === undefined) throw new Error('the feed table is empty: the sandbox was never seeded');
  return row;
}
