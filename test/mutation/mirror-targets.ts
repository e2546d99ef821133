import type { Target } from './target.js';

const target = (name: string, ...tests: readonly (readonly string[])[]): Target => ({
  file: `src/${name}.ts`,
  tests: [...new Set(tests.flat())],
});
const of =
  (room: string) =>
  (...names: readonly string[]): readonly string[] =>
    names.map((name) => `test/${room}/${name}.test.ts`);

const sync = of('sync');
const client = of('client');
const inbox = of('inbox');
const outbox = of('outbox');
const verify = of('verify');
const nock = of('nock');
const dimensions = of('dimensions');
const installations = of('installations');
const endpoint = of('endpoint');
const schedule = sync('schedule', 'tick-slots', 'join-and-leave', 'leave', 'due-queue', 'pause');
const ticks = sync('run-tick', 'perform-tick', 'decide', 'page-reader', 'step-guard', 'quiet-hours');
const listings = dimensions('list-collections', 'parse', 'round-names');
const following = installations('plan-following', 'refused-requests', 'installation-follower');
const care = endpoint('plan', 'bound', 'failed-while-off', 'unstored-secret');

/** What decides which records, requests, deliveries and messages there are. The fastest tests stand first. */
export const mirrorTargets: readonly Target[] = [
  target('sync/decide', sync('decide'), ticks),
  target('sync/perform-tick', ticks, sync('create-sync')),
  target('sync/run-tick', ticks, sync('create-sync')),
  target('sync/page-reader', sync('page-reader'), ticks),
  target('sync/webhook-spacing', sync('webhook-spacing', 'schedule', 'create-sync')),
  target('sync/schedule', schedule, sync('create-sync')),
  target('sync/schedule-state', schedule, sync('create-sync')),
  target('sync/tick-slots', schedule, sync('create-sync')),
  target('sync/source-loop', sync('source-loop'), schedule, sync('create-sync')),
  target('sync/crowd', sync('crowd', 'join-and-leave', 'create-sync')),
  target('sync/next-due', schedule, ticks, sync('create-sync')),
  target('sync/due-queue', sync('due-queue', 'tick-slots')),
  target('sync/failure-of', sync('failure-of')),
  target('sync/quiet-hours', sync('quiet-hours'), schedule),
  target('sync/restart-spacing', sync('restart-spacing')),
  target('sync/grant-check', sync('grant-check')),
  target('sync/shown-grant', sync('grant-check')),
  target('sync/follow-grant', sync('grant-check')),
  target('sync/step-guard', sync('step-guard'), ticks),
  target('sync/idle-stretch', sync('idle-stretch'), schedule),
  target('client/budget', client('budget', 'budgets')),
  target('client/budgets', client('budget-store', 'budgets', 'budget'), sync('create-sync')),
  target('client/judge-response', client('judge-response', 'fetch/with-retry')),
  target('client/rate-limit-wait', client('judge-response', 'fetch/with-retry', 'create-client')),
  target('client/parse-page', client('parse-page', 'raw-items', 'parse-investment')),
  target('client/parse-investment', client('parse-page', 'parse-investment', 'parse-investment-limits')),
  target('client/raw-items', client('raw-items', 'parse-page')),
  target('client/early-cursor', client('early-cursor')),
  target('client/platform-time', client('platform-time', 'budget', 'budgets')),
  target('client/fetch/with-retry', client('fetch/with-retry', 'create-client')),
  target('client/fetch/with-budget', client('budgets', 'create-client')),
  target('client/fetch/with-auth', client('fetch/with-auth')),
  target('client/fetch/with-timeout', client('fetch/sockets')),
  target('client/fetch/with-caps', client('fetch/with-caps', 'fetch/sockets')),
  target('client/fetch/body-limits', client('fetch/body-limits', 'fetch/with-caps')),
  target('client/fetch/arriving-body', client('fetch/arriving-body', 'fetch/sockets')),
  target('client/fetch/inflated', client('fetch/sockets')),
  target('client/fetch/exchange', client('fetch/exchange', 'fetch/sockets', 'fetch/connector')),
  target('client/fetch/unreachable', client('fetch/unreachable', 'fetch/tunnel')),
  target('client/fetch/connector', client('fetch/connector', 'fetch/tunnel', 'fetch/tls', 'fetch/sockets')),
  target('client/fetch/tunnel', client('fetch/tunnel')),
  target('runtime/proxy', of('runtime')('proxy')),
  target('client/fetch/connection-pool', client('fetch/sockets', 'fetch/connector', 'fetch/tls')),
  target('client/tokens/refreshing-token', client('tokens/refreshing-token', 'tokens/refresh-crashes')),
  target('client/tokens/credentials-file', client('tokens/credentials-file', 'tokens/refresh-crashes')),
  target('client/tokens/static-token', client('fetch/with-auth')),
  target('client/oauth', nock('oauth')),
  target('client/investments', nock('investments'), client('create-client')),
  target('client/installations', nock('installations'), client('installations', 'resource')),
  target('client/webhook-endpoints', nock('webhook-endpoints')),
  target('client/resource', client('resource'), nock('installations', 'webhook-endpoints')),
  target('client/api', client('api'), nock('investments')),
  target('client/create-client', client('client-limits', 'create-client')),
  target('inbox/verify-signature', inbox('verify-signature', 'receiver')),
  target('inbox/parse-event', inbox('parse-event', 'receiver')),
  target('inbox/classify-events', inbox('classify-events', 'drain', 'shared-inbox')),
  target('inbox/drain', inbox('drain', 'shared-inbox')),
  target('inbox/settle-lane', inbox('drain', 'shared-inbox')),
  target('inbox/lane-queue', inbox('drain', 'shared-inbox')),
  target('inbox/lane-sources', inbox('shared-inbox', 'drain')),
  target('inbox/lane-alarms', inbox('drain', 'shared-inbox')),
  target('inbox/ports', inbox('ports')),
  target('inbox/refusal', inbox('receiver', 'receiver-failures')),
  target('inbox/read-body', inbox('read-body', 'receiver', 'receiver-failures', 'raw-requests')),
  target(
    'inbox/receiver',
    inbox('receiver', 'receiver-failures', 'raw-requests', 'connections'),
    of('environment')('receiver-errors'),
  ),
  target('inbox/redact-body', inbox('redact-body', 'receiver')),
  target('outbox/decide-notices', outbox('decide-notices')),
  target('outbox/decide-alerts', outbox('decide-alerts', 'aggregate-alerts')),
  target('outbox/aggregate-alerts', outbox('aggregate-alerts', 'decide-alerts')),
  target('outbox/deliver', outbox('deliver', 'delivery-loop')),
  target('outbox/send-http', outbox('send-http')),
  target('verify/verify-listing', verify('verify-listing', 'verify-source')),
  target('verify/verify-source', verify('verify-source', 'verify-listing')),
  target('verify/verify-records', verify('verify-source', 'verify-listing')),
  target('verify/compare-record', verify('verify-source', 'verify-listing')),
  target('verify/settle', verify('settle', 'verify-source')),
  target('verify/call-budget', verify('call-budget', 'verify-source')),
  target('dimensions/create-dimensions', dimensions('create-dimensions')),
  target('dimensions/listing-plan', dimensions('create-dimensions')),
  target('dimensions/listing-queue', dimensions('create-dimensions')),
  target('dimensions/lister', dimensions('create-dimensions', 'catalog')),
  target('dimensions/list-collections', listings),
  target('dimensions/mentioned-rounds', listings),
  target('dimensions/finish-rows', listings),
  target('dimensions/round-names', dimensions('round-names'), listings),
  target('dimensions/compare-listings', dimensions('catalog')),
  target('dimensions/troubles', listings),
  target('dimensions/fields', dimensions('parse'), listings),
  target('dimensions/collections/companies', dimensions('parse'), listings),
  target('dimensions/collections/company-updates', dimensions('parse'), listings),
  target('dimensions/collections/index', dimensions('parse')),
  target('dimensions/collections/round-stats', dimensions('parse'), listings),
  target('dimensions/collections/rounds', dimensions('parse'), listings),
  target('daemon/catalog', of('daemon')('catalog')),
  target('installations/plan-following', following),
  target('installations/rule-follower', following),
  target('installations/installation-follower', following),
  target('installations/obtain-tokens', following),
  target('installations/followed-book', following),
  target('installations/follow-installations', of('daemon')('following')),
  target('installations/mint-spacing', installations('mint-spacing')),
  target('installations/source-name', installations('source-name', 'plan-following')),
  target('installations/token-users', following),
  target('daemon/installations-api', of('daemon')('installations-api')),
  target('endpoint/plan', care),
  target('endpoint/state', care),
  target('endpoint/bound', care),
  target('endpoint/health', endpoint('failed-while-off'), care),
  target('endpoint/care', care, endpoint('care')),
  target('endpoint/secret-ring', endpoint('secret-ring')),
  target('endpoint/state-store', care),
];
