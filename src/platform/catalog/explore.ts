import type { explore } from '../contract/offerings.js';
import type { exploreSorts } from '../contract/vocabulary.js';
import { callerOf, type Exchange, ok, type Reply } from '../http/exchange.js';
import { type Position, pageOf, pageSizeOf } from '../http/paging.js';
import { type Filter, filtersOf, refuseCombinations } from './filters.js';
import { offeringResource } from './present.js';
import { type Round, roundsOfRealm } from './rounds.js';
import { type Viewer, viewerOf } from './viewer.js';
import { publiclyVisible, roundVisible } from './visibility.js';

type Sort = (typeof exploreSorts)[number];

const orders: Readonly<Record<Sort, (round: Round) => number>> = {
  most_raised: (round) => -Number(round.raised_cents),
  // Rounds without a closing date sort last.
  closing_soon: (round) => round.closes_at ?? Number.MAX_SAFE_INTEGER,
  newest: (round) => -startOf(round),
  most_investors: (round) => -round.investor_count,
};

const startOf = (round: Round): number => round.started_at ?? round.created_at;

/** Live rounds sort before closed ones, each group in its own order. Ids break ties. */
const placeOf =
  (sort: Sort) =>
  (round: Round): Position =>
    round.status === 'open' ? [0, orders[sort](round), round.id] : [1, -(round.closed_at ?? 0), round.id];

export function answerExplore(exchange: Exchange<typeof explore>): Reply {
  const { services, now } = exchange;
  const query = exchange.input.query;
  const viewer = viewerOf(services.state, callerOf(exchange));
  const filters = filtersOf(query, viewer);
  refuseCombinations(query, filters, viewer);
  const size = pageSizeOf(query.per_page);
  const status = query.status ?? 'live';
  const sort = query.sort ?? 'most_raised';
  const rounds = roundsOfRealm(services, viewer.realm, now);
  const matching = [
    ...(status === 'closed' ? [] : liveRounds(rounds, viewer)),
    ...(status === 'live' ? [] : closedRounds(rounds)),
  ].filter((round) => filters.every((filter) => filter.keeps(round)));
  const page = pageOf(services.state, matching, placeOf(sort), {
    cursor: query.cursor,
    size,
    list: `explore:${status}:${sort}`,
  });
  const siblings = (of: Round) => rounds.filter((round) => round.company_no === of.company_no);
  return ok({
    data: page.items.map((round) => offeringResource(services, round, siblings(round), viewer)),
    meta: {
      ...page.meta,
      total_count: matching.length,
      status,
      sort: status === 'closed' ? null : sort,
      personalized: viewer.userNo !== null,
      filters: echoOf(filters),
    },
  });
}

const echoOf = (filters: readonly Filter[]) =>
  Object.fromEntries(filters.map((filter) => [filter.name, filter.echo]));

/**
 * Returns one live round per company. The round is chosen before filtering, so a filter can only shorten the list.
 * A public round is preferred to one only this viewer sees, so a personal list contains everything in the public one.
 */
function liveRounds(rounds: readonly Round[], viewer: Viewer): readonly Round[] {
  const leads = new Map<number, Round>();
  for (const round of rounds) {
    if (round.status !== 'open' || !roundVisible(round, viewer)) continue;
    const lead = leads.get(round.company_no);
    if (lead === undefined || leadsOver(round, lead)) leads.set(round.company_no, round);
  }
  return [...leads.values()];
}

/** Prefers public over private, investments over reservations, then the newest; ties keep the round created first. */
function leadsOver(round: Round, lead: Round): boolean {
  const rank = (one: Round) => [publiclyVisible(one) ? 0 : 1, one.testing_the_waters, -startOf(one)];
  const [mine, theirs] = [rank(round), rank(lead)];
  const at = mine.findIndex((value, index) => value !== theirs[index]);
  return at >= 0 && (mine[at] ?? 0) < (theirs[at] ?? 0);
}

const closedRounds = (rounds: readonly Round[]): readonly Round[] =>
  rounds.filter((round) => round.status === 'closed' && publiclyVisible(round));
