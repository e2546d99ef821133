import { describe, expect, test } from 'vitest';
import { judgeResponse } from '../../src/client/judge-response.js';
import { headerNames } from '../../src/wire/headers.js';

const now = Date.parse('2026-11-20T12:00:00Z');
const names = headerNames();

function judge(
  status: number,
  body: unknown = '',
  headers: Record<string, string> = {},
  what = 'GET /investments',
) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return judgeResponse(what, { status, body: text, headers: new Headers(headers) }, names, now);
}

function envelope(type: string, more: Record<string, unknown> = {}) {
  return { error: { type, message: 'It is so.', request_id: 'req_body1', ...more } };
}

describe('judge response: a status becomes a fault', () => {
  test.each([
    [400, 'invalid_parameter', 'refused'],
    [401, 'unauthorized', 'unauthorized'],
    [403, 'insufficient_scope', 'forbidden'],
    [404, 'not_found', 'refused'],
    [409, 'already_installed', 'refused'],
    [410, 'gone', 'cursor_expired'],
    [418, 'short_and_stout', 'refused'],
    [422, 'validation_error', 'refused'],
    [429, 'rate_limit_exceeded', 'rate_limited'],
    [500, 'internal_server_error', 'platform_error'],
    [501, 'not_implemented', 'platform_error'],
    [300, 'multiple_choices', 'contract_broken'],
    [304, 'not_modified', 'contract_broken'],
  ])('ERR-01 CLIENT-13 judge response: %i %s is %s', (status, type, code) => {
    const fault = judge(status, envelope(type));
    expect(fault).toMatchObject({ code, about: { status, type, requestId: 'req_body1' } });
    expect(fault?.about.retryAt !== undefined).toBe(code === 'rate_limited');
  });

  test.each([
    [400, 'invalid_parameter', undefined],
    [401, 'unauthorized', 'replace the token, or run `rosterd connect`'],
    [403, 'insufficient_scope', 'the token lacks a scope: `rosterd doctor` shows which it has'],
    [403, 'forbidden', '`rosterd doctor` shows what the token may see'],
    [404, 'not_found', undefined],
    [429, 'rate_limit_exceeded', expect.stringContaining('it allows fewer requests than the platform')],
    [500, 'internal_server_error', undefined],
  ])('judge response: the next step after %i %s', (status, type, hint) => {
    expect(judge(status, envelope(type))?.about.hint).toEqual(hint);
  });

  test('judge response: a success is not a fault', () => {
    expect(judge(200, '{}')).toBeUndefined();
    expect(judge(204)).toBeUndefined();
  });

  test('CLIENT-03 judge response: the type alone decides, not the message', () => {
    const said = envelope('not_found', { message: 'cursor expired, rate limit exceeded, gone' });
    expect(judge(404, said)?.code).toBe('refused');
  });

  test('judge response: invalid_client asks to compare the keys of the application, not for another token', () => {
    const fault = judge(401, { error: 'invalid_client' });
    expect(fault).toMatchObject({ code: 'unauthorized', about: { type: 'invalid_client' } });
    expect(fault?.about.hint).toMatch(/clientSecret.*keys of the application/);
  });

  test('OAUTH-20 CLIENT-12 judge response: invalid_grant in the flat form asks for a new sign-in', () => {
    const fault = judge(400, { error: 'invalid_grant', error_description: 'The token was used.' });
    expect(fault).toMatchObject({ code: 'reauthorize', about: { type: 'invalid_grant' } });
    expect(fault?.about.hint).toContain('rosterd connect');
  });
});

describe('judge response: error bodies', () => {
  test("judge response: the request id of the header precedes the body's", () => {
    const fault = judge(404, envelope('not_found'), { 'X-Service-Request-Id': 'req_header1' });
    expect(fault?.about.requestId).toBe('req_header1');
    expect(judge(404, { error: {}, request_id: 'req_top1' })?.about.requestId).toBe('req_top1');
  });

  test('judge response: the request id header is read under its configured name', () => {
    const answer = { status: 404, body: '', headers: new Headers({ 'X-Wf-Request-Id': 'req_2' }) };
    const fault = judgeResponse('GET /x', answer, headerNames('Other', 'X-Wf-Request-Id'), now);
    expect(fault?.about.requestId).toBe('req_2');
  });

  test('ERR-04 CLIENT-17 judge response: an HTML 502 and an empty 503 become faults', () => {
    for (const [status, body] of [
      [500, ''],
      [502, '<html>Bad gateway</html>'],
      [503, ''],
    ] as const)
      expect(judge(status, body)).toMatchObject({
        code: 'platform_error',
        message: `GET /investments answered ${status}`,
        about: { status },
      });
  });

  test('ERR-03 CLIENT-17 judge response: a gateway 429 without request id or JSON becomes a fault', () => {
    const fault = judge(429, 'slow down');
    expect(fault).toMatchObject({ code: 'rate_limited', about: { retryAt: '2026-11-20T12:00:01.000Z' } });
    expect(fault?.about.requestId).toBeUndefined();
  });

  test('judge response: a 4xx message is shown, truncated and without control characters', () => {
    const fault = judge(
      400,
      envelope('bad_request', { message: `per_page\u001b[31m\r\n${'x'.repeat(500)}` }),
      {},
      'POST /webhook_endpoints',
    );
    expect(fault?.message).toContain('per_page [31m x');
    expect(fault?.message).not.toMatch(/\p{Cc}/u);
    expect(fault?.message.length).toBeLessThan(300);
    const shown = (message: string) =>
      judge(400, { error: { type: 'bad_request', message } }, {}, 'GET /x')?.message;
    expect(shown('x'.repeat(200))).toBe(`GET /x answered 400 bad_request: ${'x'.repeat(200)}`);
    expect(shown('x'.repeat(201))).toBe(`GET /x answered 400 bad_request: ${'x'.repeat(199)}…`);
  });

  test.each([
    'GET /investments',
    'GET /investments/inv_1',
    'GET /api/v2/investments',
    'GET /api/v2/investments/inv_1',
  ])(
    "judge response: a message about people's records is not repeated, since it may quote a person: %s",
    (what) => {
      const fault = judge(400, envelope('bad_request', { message: 'no such person: Mara' }), {}, what);
      expect(fault?.message).toBe(`${what} answered 400 bad_request (request req_body1)`);
    },
  );

  test('judge response: a rejected API version is reported in our own words', () => {
    const fault = judge(400, envelope('invalid_request', { message: 'Unknown version for Mara' }));
    expect(fault?.message).toContain('it does not support the API version');
    expect(fault?.about.hint).toContain('platform.version');
    expect(judge(400, envelope('bad_request', { message: 'a version' }))?.message).not.toContain('version');
    expect(fault?.message).not.toContain('Mara');
  });

  test("judge response: the token endpoint's invalid_request is not about the API version", () => {
    const body = { error: 'invalid_request', error_description: 'The parameter code is missing.' };
    const fault = judge(400, body, {}, 'POST /oauth/token');
    expect(fault?.message).toBe(
      'POST /oauth/token answered 400 invalid_request: The parameter code is missing.',
    );
    expect(fault?.about.hint).toBeUndefined();
  });

  test.each([
    [401, 'unauthorized'],
    [410, 'gone'],
    [429, 'rate_limit_exceeded'],
    [500, 'internal_server_error'],
  ])('judge response: the message of a %i is not repeated, since it may quote a person', (status, type) => {
    const fault = judge(status, envelope(type, { message: 'PG: duplicate Mara' }), {}, 'GET /installations');
    expect(fault?.message).toBe(`GET /installations answered ${status} ${type} (request req_body1)`);
  });

  test('judge response: what a refusal of the platform says is repeated', () => {
    for (const [status, type] of [
      [403, 'forbidden'],
      [422, 'validation_error'],
    ] as const)
      expect(judge(status, envelope(type), {}, 'POST /installations')?.message).toBe(
        `POST /installations answered ${status} ${type}: It is so. (request req_body1)`,
      );
  });

  test.each([
    'null',
    '[]',
    '"x"',
    '{"error":null}',
    '{"error":[]}',
    '{"error":{"type":7,"request_id":{}}}',
    '{"error":{"type":"a b\\n"}}',
    '<html>403 Forbidden</html>',
    '',
  ])("judge response: a body of %s is not an error envelope, so the refusal may be a gateway's", (body) => {
    for (const status of [400, 403, 404, 405, 422])
      expect(judge(status, body)).toMatchObject({
        code: 'contract_broken',
        message: expect.stringContaining(`${status} without a readable reason`),
        about: { status, hint: expect.stringContaining('platform.baseUrl') },
      });
    expect(judge(403, body)?.about.type).toBeUndefined();
  });

  test.each([
    [401, 'rosterd connect'],
    [410, 'rosterd sync --resync'],
  ])(
    'judge response: a %i without an error type names what helps if it lasts, and asks for nothing else',
    (status, next) => {
      for (const body of ['', '<html>Please sign in</html>', '{"message":"Unauthorized"}'])
        expect(judge(status, body)).toMatchObject({
          code: 'contract_broken',
          message: expect.stringContaining(`${status} without a readable reason`),
          about: { status, hint: expect.stringContaining(next) },
        });
    },
  );

  test('judge response: a 401 of the token endpoint has its type in the flat form', () => {
    expect(judge(401, { error: 'invalid_client' })).toMatchObject({
      code: 'unauthorized',
      about: { type: 'invalid_client' },
    });
    expect(judge(401, { error: 'invalid_grant' })).toMatchObject({ code: 'reauthorize' });
  });
});

describe('judge response: the wait after a 429', () => {
  const until = (body: unknown, headers: Record<string, string> = {}) =>
    judge(429, body, headers)?.about.retryAt;
  const details = (retry_after: unknown) =>
    envelope('rate_limit_exceeded', { details: { limit: 1000, period: 'hour', retry_after } });

  test("RATE-11 CLIENT-14 a 429's details.retry_after takes precedence", () => {
    expect(until(details(42), { 'X-RateLimit-Reset': '1' })).toBe('2026-11-20T12:00:42.000Z');
  });

  test("RATE-12 CLIENT-14 a 429 without retry_after uses the reset, measured against the response's own Date", () => {
    const headers = {
      'X-RateLimit-Reset': String(Date.parse('2020-01-01T00:01:30Z') / 1000),
      Date: 'Wed, 01 Jan 2020 00:00:00 GMT',
    };
    expect(until('', headers)).toBe('2026-11-20T12:01:30.000Z');
  });

  test('a 429 without Date measures the reset against our clock', () => {
    expect(until('', { 'X-RateLimit-Reset': String(now / 1000 + 90) })).toBe('2026-11-20T12:01:30.000Z');
  });

  test('a small reset of a 429 is a number of seconds', () => {
    expect(until('', { 'X-RateLimit-Reset': '90' })).toBe('2026-11-20T12:01:30.000Z');
  });

  test.each([
    [undefined, 42],
    [null, 42],
    ['7', 42],
    [-5, 42],
    [0, 1],
  ])('a 429 with retry_after %j and a reset in 42 seconds waits for %i', (retryAfter, seconds) => {
    const headers = { 'X-RateLimit-Reset': '42' };
    expect(until(details(retryAfter), headers)).toBe(new Date(now + seconds * 1000).toISOString());
  });

  test("RATE-14 a 429's Retry-After header is ignored", () => {
    expect(until('', { 'Retry-After': '900' })).toBe('2026-11-20T12:00:01.000Z');
  });

  test.each([[details(-5)], [details('soon')], [details(null)], [details(0)]])(
    'an invalid retry_after of a 429 waits a second: %j',
    (body) => {
      expect(until(body)).toBe('2026-11-20T12:00:01.000Z');
    },
  );

  test('only a 429 that asks for no wait is reported as one, with a hint at what may have answered', () => {
    const unstated = (body: unknown, headers: Record<string, string> = {}) =>
      judge(429, body, headers)?.about;
    const hint = expect.stringContaining('a proxy or a gateway');
    for (const body of ['<html>busy</html>', details(null), details(0), details(-5)])
      expect(unstated(body, { 'Retry-After': '900' })).toMatchObject({ waitUnstated: true, hint });
    expect(unstated('', { 'X-RateLimit-Reset': '1000000000' })).toMatchObject({ waitUnstated: true });
    expect(unstated(details(1))).not.toHaveProperty('waitUnstated');
    expect(unstated(details(1))).not.toHaveProperty('hint');
    expect(unstated('', { 'X-RateLimit-Reset': '2' })).not.toHaveProperty('waitUnstated');
  });

  test('a 429 never waits longer than an hour', () => {
    expect(until(details(1e9))).toBe('2026-11-20T13:00:00.000Z');
    for (const reset of ['9999999999', '999999999'])
      expect(until('', { 'X-RateLimit-Reset': reset })).toBe('2026-11-20T13:00:00.000Z');
  });
});
