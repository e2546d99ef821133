import type { z } from 'zod';
import { parseInstant } from '../../domain/instant.js';
import type { explore } from '../contract/offerings.js';
import { businessModels, industries } from '../contract/vocabulary.js';
import { flagOf, wordsOf } from '../http/list-parameter.js';
import { badParameter } from '../http/problem.js';
import { centsOf } from './money.js';
import type { Round } from './rounds.js';
import type { Viewer } from './viewer.js';

export type ExploreQuery = z.output<typeof explore.query>;

export interface Filter {
  readonly name: string;
  /** The applied value, returned in `meta.filters`. */
  readonly echo: string | number | boolean | readonly string[];
  keeps(round: Round): boolean;
}

/** Returns the requested filters. `followed` refers to the companies that `viewer` follows. */
export function filtersOf(query: ExploreQuery, viewer: Viewer): readonly Filter[] {
  const filters: Filter[] = [];
  const add = <Value extends Filter['echo']>(
    name: string,
    value: Value | undefined,
    keeps: (round: Round, value: Value) => boolean,
  ) => {
    if (value !== undefined) filters.push({ name, echo: value, keeps: (round) => keeps(round, value) });
  };
  add('exemption', query.exemption, (round, family) => round.exemption === family);
  add(
    'security',
    query.security,
    (round, type) => round.testing_the_waters === 0 && round.security_type === type,
  );
  add(
    'testing_the_waters',
    flagOf(query.testing_the_waters),
    (round, wanted) => (round.testing_the_waters === 1) === wanted,
  );
  addDollars(
    'max_min_investment',
    query.max_min_investment,
    (round, most) => round.min_investment_cents !== null && round.min_investment_cents <= most,
  );
  addDollars('min_amount_raised', query.min_amount_raised, (round, least) => round.raised_cents >= least);
  const before = query.closing_before === undefined ? undefined : moment(query.closing_before);
  add(
    'closing_before',
    query.closing_before,
    (round) => before !== undefined && round.closes_at !== null && round.closes_at < before,
  );
  add('industry', wordsOf('industry', query.industry, industries), (round, wanted) =>
    anyOf(round.industries, wanted),
  );
  add('business_model', wordsOf('business_model', query.business_model, businessModels), (round, wanted) =>
    anyOf(round.business_models, wanted),
  );
  add('followed', flagOf(query.followed), (round, wanted) => viewer.follows.has(round.company_no) === wanted);
  return filters;

  function addDollars(
    name: string,
    text: string | undefined,
    keeps: (round: Round, cents: number) => boolean,
  ) {
    const cents = text === undefined ? undefined : centsOf(text);
    if (cents !== undefined) filters.push({ name, echo: cents / 100, keeps: (round) => keeps(round, cents) });
  }
}

const anyOf = (stored: string, wanted: readonly string[]): boolean =>
  (JSON.parse(stored) as string[]).some((word) => wanted.includes(word));

/** Parses an ISO 8601 time. A date without a time means midnight UTC. */
function moment(text: string): number {
  const instant = parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);
  if (instant === undefined) {
    throw badParameter('closing_before', 'closing_before must be an ISO 8601 date, like 2026-12-31.');
  }
  return Date.parse(instant);
}

/** Throws a 400 for parameters that cannot be combined. */
export function refuseCombinations(query: ExploreQuery, filters: readonly Filter[], viewer: Viewer): void {
  const status = query.status ?? 'live';
  if (query.followed !== undefined && viewer.userNo === null) {
    throw badParameter('followed', 'followed needs the logged-in view: a user token with read:explore.');
  }
  const refused = status === 'live' ? undefined : filters.find((filter) => filter.name !== 'exemption');
  if (refused !== undefined) {
    throw badParameter(
      refused.name,
      `${refused.name} filters live rounds only; with status=${status} exemption is the only filter.`,
    );
  }
  if (status === 'closed' && query.sort !== undefined) {
    throw badParameter('sort', 'sort orders live rounds only; closed rounds come newest closed_at first.');
  }
}
