import { expect, test } from 'vitest';
import { z } from 'zod';
import { operation } from '../../../src/platform/contract/operation.js';
import { type Exchange, type Handler, ok, type Step } from '../../../src/platform/http/exchange.js';
import { idempotent } from '../../../src/platform/http/idempotent.js';
import { route } from '../../../src/platform/http/route.js';

const shared = { tag: 'Things', summary: 'Things', scopes: null, responses: {}, errors: [] } as const;
const list = operation({
  ...shared,
  id: 'listThings',
  method: 'GET',
  path: '/things',
  query: z.object({ page: z.string() }),
});
const create = operation({
  ...shared,
  id: 'createThing',
  method: 'POST',
  path: '/things',
  idempotencyKey: true,
  body: z.object({ name: z.string() }),
});
const rename = operation({ ...create, id: 'renameThing', method: 'PUT', path: '/names' });
const remove = operation({ ...shared, id: 'removeThing', method: 'DELETE', path: '/things' });

const answerList = (exchange: Exchange<typeof list>) => ok(exchange.input.query.page);
const answerCreate = (exchange: Exchange<typeof create>) => ok(exchange.input.body.name);
const anything: Handler = () => ok({});
const step: Step = () => {};

/** The types of this file are the test: `npm run types` fails when a line below compiles that must not, or the reverse. */
test('route: a handler compiles only with an operation that declares the input it reads', () => {
  const routes = [
    route(list, step, answerList),
    route(list, step, (exchange) => ok(exchange.input.query.page)),
    route(list, anything),
    route(create, step, idempotent(answerCreate)),
    // The same schemas under another operation fit.
    route(rename, step, idempotent(answerCreate)),
    // @ts-expect-error: the operation declares no body
    route(list, step, answerCreate),
    // @ts-expect-error: the operation declares no query
    route(remove, step, answerList),
    // @ts-expect-error: the query has no such parameter
    route(list, step, (exchange) => ok(exchange.input.query.size)),
    // @ts-expect-error: the body is unknown where none is declared
    route(list, step, (exchange) => ok(exchange.input.body.name)),
  ];
  // @ts-expect-error: the wrapper keeps the operation of its handler
  expect(() => route(list, step, idempotent(answerCreate))).toThrow('listThings');
  expect(routes.map((one) => one.steps.length)).toEqual([1, 1, 0, 1, 1, 1, 1, 1, 1]);
});
