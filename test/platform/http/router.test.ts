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

test('a literal segment wins over a parameter', () => {
  expect(found('GET', '/installations/eligible')).toEqual(['GET /installations/eligible', {}]);
  expect(found('GET', '/installations/inst_1')).toEqual(['GET /installations/{id}', { id: 'inst_1' }]);
});

test('routes of one path may name its parameter differently', () => {
  expect(found('DELETE', '/installations/a')).toEqual([
    'DELETE /installations/{external_id}',
    { external_id: 'a' },
  ]);
  expect(found('POST', '/installations/eligible/tokens')).toEqual([
    'POST /installations/{external_id}/tokens',
    { external_id: 'eligible' },
  ]);
});

test('HEAD is answered by GET; another method finds the path, not a route', () => {
  expect(found('HEAD', '/installations/eligible')).toEqual(['GET /installations/eligible', {}]);
  expect(router.match('PUT', '/installations/x')).toMatchObject({ route: null, methods: ['GET', 'DELETE'] });
});

test('what names nothing is not found: a prefix, a longer path, an empty segment', () => {
  for (const path of ['/', '/installations', '/installations/', '/installations/a/b', '//eligible']) {
    expect(router.match('GET', path)).toBeNull();
  }
});

test('one operation cannot be routed twice', () => {
  expect(() => new Router([declared('GET', '/a/{x}'), declared('GET', '/a/{y}')])).toThrow('two routes');
});
