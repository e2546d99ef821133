import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { packageRoot } from '../../../src/runtime/package-root.js';
import { eventNames } from '../../../src/wire/events.js';
import { headerNames } from '../../../src/wire/headers.js';
import { apiDescription, declaredOperations } from '../../tools/api-description.js';

const operations = declaredOperations();
const document = apiDescription();

test('openapi: the linter with its recommended rules reports no problems and makes no network request', async () => {
  const cli = join(packageRoot, 'node_modules/@redocly/cli/bin/cli.js');
  const file = join(packageRoot, 'schema/openapi.json');
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  };
  const run = promisify(execFile)(
    process.execPath,
    [cli, 'lint', file, '--extends=recommended', '--format=json', '--skip-rule=tag-description'],
    { env },
  );
  const report = JSON.parse((await run).stdout);
  const found: string[] = report.problems.map((problem: { ruleId: string }) => problem.ruleId);
  // Removing a member always requires an intent, so it is the only operation without a 2xx response.
  const refusing = operations.filter(({ responses }) => Object.keys(responses).length === 0);
  expect(refusing.map(({ id }) => id)).toEqual(['removeSyndicateMember']);
  expect(found).toEqual(['operation-2xx-response']);
});

test('openapi: every operation is listed once, with its scopes, under its path', () => {
  const told = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
  );
  expect(told.sort()).toEqual(operations.map(({ id, method, path }) => `${id} ${method} ${path}`).sort());
  expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
});

test('openapi: every event is listed with an example of that event', () => {
  const hooks = document.webhooks ?? {};
  expect(Object.keys(hooks)).toEqual([...eventNames]);
  for (const event of eventNames) {
    const body = hooks[event]?.post?.requestBody;
    expect(body !== undefined && 'content' in body && body.content['application/json']?.example.event).toBe(
      event,
    );
  }
});

test('openapi: the document uses the configured header names', () => {
  const own = JSON.stringify(apiDescription(headerNames('Acme', 'X-Acme-Id')));
  for (const name of ['Acme-Version', 'Acme-Version-Latest', 'Acme-Signature', 'X-Acme-Id'])
    expect(own).toContain(name);
  expect(own).not.toContain('Service-');
});

test('openapi: parameters that are numbers or booleans have that type, so that generated clients take one', () => {
  const typed: Readonly<Record<string, string>> = {
    ...{ per_page: 'integer', offset: 'integer', limit: 'integer', app_id: 'integer' },
    ...{ max_min_investment: 'number', min_amount_raised: 'number' },
    ...{ testing_the_waters: 'boolean', followed: 'boolean', past_raises: 'boolean' },
    ...{ unanswered_by_team: 'boolean', has_invested: 'boolean', accredited: 'boolean' },
  };
  const found = Object.values(document.paths ?? {}).flatMap((item) =>
    Object.values(
      item as Record<string, { parameters?: { in?: string; name?: string; schema?: { type?: string } }[] }>,
    )
      .flatMap(({ parameters = [] }) => parameters)
      .flatMap(({ in: place, name = '', schema }) =>
        place === 'query' && name in typed ? [[name, schema?.type] as const] : [],
      ),
  );
  expect(new Set(found.map(([name]) => name))).toEqual(new Set(Object.keys(typed)));
  expect(found.filter(([name, type]) => type !== typed[name])).toEqual([]);
  expect(JSON.stringify(document)).not.toContain('sentAs');
});

test('openapi: Idempotency-Key is listed only where it is accepted, rate limit headers only on 429', () => {
  const text = (value: unknown): string => JSON.stringify(value);
  const all = operations.map(({ id, method, path }) => ({
    id,
    item: document.paths?.[path]?.[method.toLowerCase() as 'get'],
  }));
  const keyed = all.filter(({ item }) =>
    text(item?.parameters).includes('#/components/parameters/IdempotencyKey'),
  );
  expect(keyed.map(({ id }) => id).sort()).toEqual([
    'createInvestmentSession',
    'createInviteLink',
    'createInviteLinks',
    'createReferralCode',
  ]);
  for (const { id, item } of all) {
    expect([id, text(item?.parameters)]).toEqual([
      id,
      expect.stringContaining('#/components/parameters/Version'),
    ]);
    expect(Object.keys(item?.responses ?? {})).toContain('429');
  }
  const limited = Object.entries(document.components?.responses ?? {}).filter(([, response]) =>
    text(response).includes('X-RateLimit-Reset'),
  );
  expect(limited.map(([name]) => name)).toEqual(['RateLimited']);
});
