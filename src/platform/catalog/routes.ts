import { explore, getOffering } from '../contract/offerings.js';
import { conditional } from '../http/conditional.js';
import { callerOf, type Exchange, ok, type Reply, type Step } from '../http/exchange.js';
import { notFound } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { spendIp } from '../http/steps/spend.js';
import { answerExplore } from './explore.js';
import { offeringResource } from './present.js';
import { findRound, roundsOfCompany } from './rounds.js';
import { viewerOf } from './viewer.js';
import { roundVisible } from './visibility.js';

/** The first steps of every public read. Catalog reads also count against a separate limit per IP address. */
export const publicRead: readonly [Step, ...Step[]] = [...guarded];
export const catalogRead: readonly [Step, ...Step[]] = [spendIp('catalogIp'), ...publicRead];

export const catalogRoutes: readonly Route[] = [
  route(explore, ...catalogRead, answerExplore),
  route(getOffering, ...catalogRead, answerOffering),
];

function answerOffering(exchange: Exchange): Reply {
  const { services, now } = exchange;
  const viewer = viewerOf(services.state, callerOf(exchange));
  const id = exchange.params.external_id ?? '';
  const round = findRound(services, viewer.realm, id, now);
  if (round === undefined || !roundVisible(round, viewer)) throw notFound('The offering');
  const siblings = roundsOfCompany(services, round.company_no, now);
  const data = offeringResource(services, round, siblings, viewer);
  return conditional(exchange, data.etag, ok({ data }));
}
