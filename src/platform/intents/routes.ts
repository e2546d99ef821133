import type { Closable } from '../../runtime/lifecycle.js';
import * as operations from '../contract/intents.js';
import type { Feature } from '../feature.js';
import { callerOf, created, type Exchange, ok, type Reply, type Step } from '../http/exchange.js';
import { accountOf } from '../http/idempotent.js';
import { newestFirst } from '../http/newest-first.js';
import { badParameter, notFound } from '../http/problem.js';
import { route } from '../http/route.js';
import { bearer } from '../http/steps/bearer.js';
import { guarded } from '../http/steps/guarded.js';
import { spendIp } from '../http/steps/spend.js';
import type { Services } from '../services.js';
import { startSettling } from '../sessions/lifecycle.js';
import type { IntentAction } from './action.js';
import { rolloutControl } from './control.js';
import { settleIntents } from './decide.js';
import { expireOfInstallation, findIntent, type Intent, listIntents } from './model.js';
import { presentIntent } from './present.js';
import { preview, proposeFromBody, requireActionScope, requireAnyProposingScope } from './propose.js';
import { answerReview, openReview } from './review.js';

/** Returns the intents feature for the given actions. */
export function intents(actions: readonly IntentAction[]): Feature {
  const settleAll = settleIntents(actions);
  const settle: Step = (exchange) => settleAll(exchange.services, exchange.now);
  return {
    routes: [
      route(operations.createIntent, ...bearer, requireActionScope(actions), settle, create),
      route(
        operations.previewIntent,
        ...bearer,
        requireAnyProposingScope(actions, 'read:explore'),
        settle,
        look,
      ),
      route(operations.listIntents, ...guarded, settle, list),
      route(operations.getIntent, ...guarded, settle, (exchange) => single(exchange, own(exchange))),
      route(operations.openReview, spendIp('ip'), settle, openReview(actions)),
      route(operations.answerReview, spendIp('ip'), settle, answerReview(actions)),
    ],
    sandboxRoutes: rolloutControl(actions),
    start: (services) => start(services, settleAll),
  };

  function create(exchange: Exchange<typeof operations.createIntent>): Reply {
    const { intent, made } = proposeFromBody(actions, exchange);
    return single(exchange, intent, made ? created : ok);
  }

  function look(exchange: Exchange<typeof operations.previewIntent>): Reply {
    const { proposal, plan } = preview(actions, exchange);
    return ok({
      data: {
        type: 'intent_preview',
        attributes: {
          action: proposal.action.name,
          resource_type: proposal.action.resourceType,
          resource_id: plan.resourceId,
          params: proposal.params,
          impact_summary: plan.summary,
          scope: proposal.action.scope,
        },
      },
      meta: { request_id: exchange.requestId },
    });
  }
}

/** When an application is revoked or disconnected, the intents it proposed expire. */
function start(services: Services, settleAll: (services: Services, now: number) => void): Closable {
  services.events.subscribe((event) => {
    if (event.name === 'installation.revoked' && event.installationNo !== null) {
      expireOfInstallation(services.state, event.installationNo, event.at);
    }
  });
  return startSettling(services, settleAll);
}

const single = (exchange: Exchange, intent: Intent, reply: (body: unknown) => Reply = ok): Reply =>
  reply({ data: presentIntent(exchange, intent), meta: { request_id: exchange.requestId } });

function own(exchange: Exchange): Intent {
  const holder = accountOf(callerOf(exchange));
  const intent = findIntent(exchange.services.state, holder, exchange.params.id ?? '');
  if (intent === undefined) throw notFound('The intent');
  return intent;
}

function list(exchange: Exchange<typeof operations.listIntents>): Reply {
  const query = exchange.input.query;
  const holder = accountOf(callerOf(exchange));
  const subject = `intents:${holder}`;
  const status = operations.intentStatuses.find((known) => known === query.status) ?? null;
  if (query.status !== undefined && status === null) {
    throw badParameter('status', `status must be one of ${operations.intentStatuses.join(', ')}.`);
  }
  const filter = {
    holder,
    status,
    resourceType: query.resource_type ?? null,
    resourceId: query.resource_id ?? null,
  };
  const read = (before: number, limit: number) =>
    listIntents(exchange.services.state, { ...filter, before, limit });
  return ok(newestFirst(exchange, subject, query, read, (row) => presentIntent(exchange, row)));
}
