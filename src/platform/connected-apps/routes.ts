import { recordActivity } from '../activity/record.js';
import { listConnectedApps, revokeConnectedApp } from '../contract/connected-apps.js';
import { type Exchange, ok, type Reply, userOf } from '../http/exchange.js';
import { notFound } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { isoOrNull } from '../http/timestamps.js';
import { connectedApps, disconnect } from './model.js';

export const connectedAppRoutes: readonly Route[] = [
  route(listConnectedApps, ...guarded, answerList),
  route(revokeConnectedApp, ...guarded, answerRevoke),
];

function answerList(exchange: Exchange): Reply {
  const { userNo, realm } = userOf(exchange);
  const apps = connectedApps(exchange.services.state, userNo, realm, exchange.now);
  return ok({
    data: apps.map((app) => ({
      id: app.no,
      type: 'connected_app',
      attributes: {
        name: app.name,
        scopes: app.scopes,
        last_active_at: isoOrNull(app.last_active_at),
        action_count: app.action_count,
        created_at: new Date(app.connected_at).toISOString(),
      },
    })),
    meta: { has_more: false, page_count: apps.length, next_cursor: null },
  });
}

function answerRevoke(exchange: Exchange): Reply {
  const { services, now } = exchange;
  const { userNo, realm } = userOf(exchange);
  const id = exchange.params.app_id ?? '';
  const app = connectedApps(services.state, userNo, realm, now).find(({ no }) => String(no) === id);
  if (app === undefined) throw notFound('The connected app');
  const tokens = services.state.transaction(() => {
    recordActivity(exchange, {
      action: 'connected_apps.revoke',
      resourceType: 'Application',
      resourceId: id,
      resourceLabel: app.name,
      before: { connected: true },
      after: { connected: false },
    });
    return disconnect(services, userNo, realm, app.no, now);
  })();
  return ok({ data: { revoked: true, tokens_revoked: tokens } });
}
