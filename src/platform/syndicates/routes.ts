import * as operations from '../contract/syndicates.js';
import { callerOf, type Exchange, ok, type Reply } from '../http/exchange.js';
import { pageSizeOf, readPage } from '../http/paging.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { accessTo, boundSyndicate, operatorAccess } from './access.js';
import { recordActivity } from './activity.js';
import { managedSyndicates, type Syndicate, syndicateByNo, writeText } from './model.js';
import { syndicateResourceOf } from './present.js';
import { statisticsOf } from './statistics.js';

export const syndicateRoutes: readonly Route[] = [
  route(operations.listSyndicates, ...guarded, list),
  route(operations.getSyndicate, ...guarded, (exchange) =>
    ok({ data: syndicateResourceOf(accessTo(exchange).syndicate) }),
  ),
  route(operations.updateSyndicate, ...guarded, update),
  route(operations.getSyndicateStatistics, ...guarded, (exchange) => {
    const { syndicate } = operatorAccess(exchange);
    return ok({ data: statisticsOf(exchange.services, syndicate, exchange.now) });
  }),
];

function list(exchange: Exchange<typeof operations.listSyndicates>): Reply {
  const { state } = exchange.services;
  const caller = callerOf(exchange);
  const query = exchange.input.query;
  const by = {
    realm: caller.realm,
    user: caller.kind === 'user' ? caller.userNo : null,
    bound: boundSyndicate(caller) ?? null,
  };
  const list = `syndicates:${by.realm}:${by.user}:${by.bound}`;
  const page = readPage<Syndicate, readonly [number]>(
    state,
    { list, cursor: query.cursor, size: pageSizeOf(query.per_page) },
    (after, limit) => managedSyndicates(state, by, after?.[0] ?? 0, limit),
    ({ no }) => [no],
  );
  return ok({ data: page.items.map(syndicateResourceOf), meta: page.meta });
}

function update(exchange: Exchange<typeof operations.updateSyndicate>): Reply {
  const { services, now } = exchange;
  const { syndicate, userNo } = operatorAccess(exchange);
  const body = exchange.input.body;
  services.state.transaction(() => {
    writeText(services.state, syndicate, body.syndicate, now);
    recordActivity(services, { syndicateNo: syndicate.no, action: 'syndicate.updated' }, userNo, now);
  })();
  return ok({ data: syndicateResourceOf(syndicateByNo(services.state, syndicate.no)) });
}
