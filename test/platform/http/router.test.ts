import { expect, test } from 'vitest';
import type { Operation } from '../../../src/platform/contract/operation.js';
import { ok } from '../../../src/platform/http/exchange.js';
import { Router, route } from '../../../src/platform/http/route.js';

const declared = (method: Operation['method'], path: string) =>
  route(
    { id: `${method} ${path}`, method, path, tag: '', summary: '', scopes: null, responses: {}, errors: [] },
    () => ok({}),
  );
const router = new Router([
  declared('GET', '/installations/{id}'),
  declared('GET', '/installations/eligible'),
  declared('POST', '/installations/{external_id}/tokens'),
  declared('DELETE', '/installations/{external_id}'),
]);
const found = (method: string, path: string) => {
  const match = router.match(method, path);
  return match === null ? null : [match.route?.operation.id, match.params];
};

test('router: a literal segment takes precedence over a parameter', () => {
  expect(found('GET', '/installations/eligible')).toEqual(['GET /installations/eligible', {}]);
  expect(found('GET', '/installations/inst_1')).toEqual(['GET /installations/{id}', { id: 'inst_1' }]);
});

test('router: two methods of one path may name the path parameter differently', () => {
  expect(found('DELETE', '/installations/a')).toEqual([
    'DELETE /installations/{external_id}',
    { external_id: 'a' },
  ]);
  expect(found('POST', '/installations/eligible/tokens')).toEqual([
    'POST /installations/{external_id}/tokens',
    { external_id: 'eligible' },
  ]);
});

test('router: HEAD uses the GET route; another method matches the path but no route', () => {
  expect(found('HEAD', '/installations/eligible')).toEqual(['GET /installations/eligible', {}]);
  expect(router.match('PUT', '/installations/x')).toMatchObject({ route: null, methods: ['GET', 'DELETE'] });
});

test('router: a prefix, a longer path and an empty segment match no route', () => {
  for (const path of ['/', '/installations', '/installations/', '/installations/a/b', '//eligible']) {
    expect(router.match('GET', path)).toBeNull();
  }
});

test('router: registering one operation twice throws', () => {
  expect(() => new Router([declared('GET', '/a/{x}'), declared('GET', '/a/{y}')])).toThrow('two routes');
});
