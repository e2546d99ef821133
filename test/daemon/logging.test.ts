import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createLogger, type LoggingOptions } from '../../src/daemon/logging.js';
import { Fault } from '../../src/domain/fault.js';
import type { LogFields } from '../../src/runtime/logger.js';

const clock = { now: () => Date.UTC(2026, 9, 20, 9, 30), monotonic: () => 0, wait: async () => {} };

function logging(options: Partial<LoggingOptions> = {}) {
  let text = '';
  const stream = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  const logger = createLogger({ level: 'info', format: 'json', stream, color: false, clock, ...options });
  return { logger, text: () => text, line: () => JSON.parse(text) as Record<string, unknown> };
}

test('log: a line is JSON with level, time, fields and a constant message', () => {
  const { logger, text } = logging();
  logger.child({ component: 'sync', source: 'acme' }).info({ changed: 42, tookMs: 7 }, 'page applied');
  expect(text()).toBe(
    '{"level":"info","time":"2026-10-20T09:30:00.000Z","component":"sync","source":"acme","changed":42,"tookMs":7,"msg":"page applied"}\n',
  );
});

test('log: fields that are not in the list are dropped, from lines and from child loggers', () => {
  const { logger, text } = logging();
  const extra = {
    source: 'acme',
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    token: 'at_live_abc',
    investor: { legal_name: 'Ada Lovelace' },
  } as LogFields;
  logger.child(extra).warn(extra, 'page applied');
  expect(text()).not.toMatch(/Ada|ada@|at_live|investor/);
  expect(text()).toContain('"source":"acme"');
});

test('log: a field of a line replaces the same field of its child logger', () => {
  const { logger, text } = logging();
  logger.child({ source: 'acme', state: 'a' }).info({ state: 'b' }, 'moved');
  expect(text()).toContain('"source":"acme","state":"b","msg"');
});

test('log: a field of the wrong type is dropped', () => {
  const { logger, line } = logging();
  const wrong = { path: { email: 'ada@example.com' }, rows: 'Ada', source: ['Ada'] } as unknown as LogFields;
  logger.info(wrong, 'page applied');
  expect(line()).toEqual({ level: 'info', time: expect.any(String), msg: 'page applied' });
});

test('log: credentials are masked and URL queries cut, in every field', () => {
  const { logger, text, line } = logging();
  logger.info(
    {
      url: 'https://user:pass@api.example.com/investments?cursor=abc#x',
      path: '/callback?code=secret',
      hint: 'token at_live_abc123 was refused, signed with whsec_AbC+/=',
    },
    'saw rt_test_xyz',
  );
  expect(line()).toMatchObject({
    url: 'https://api.example.com/investments',
    path: '/callback',
    hint: 'token at_live_… was refused, signed with whsec_…',
    msg: 'saw rt_test_…',
  });
  expect(text()).not.toMatch(/abc|secret|xyz|AbC|pass/);
});

test('log: control characters are escaped, and an entry is one line, in both formats', () => {
  for (const format of ['json', 'pretty'] as const) {
    const { logger, text } = logging({ format });
    logger.info({ source: 'a\n{"level":"error"}\u001b[2J\u202e' }, 'page\r\napplied');
    expect(text().split('\n')).toHaveLength(2);
    for (const control of ['\u001b', '\r', '\u202e']) expect(text()).not.toContain(control);
  }
});

test('log: the message of an error that is not a Fault is dropped, because it may quote data', () => {
  const { logger, text, line } = logging();
  class SqliteError extends Error {
    readonly code = 'SQLITE_CONSTRAINT';
  }
  logger.error({ error: new SqliteError('UNIQUE failed: Ada Lovelace') }, 'page not applied');
  expect(line().error).toEqual({ class: 'SqliteError', code: 'SQLITE_CONSTRAINT' });
  expect(text()).not.toContain('Ada');
});

test('log: a Fault keeps its message, and the class and code of its cause', () => {
  const { logger, line } = logging();
  const cause = Object.assign(new Error('connect ECONNREFUSED Ada'), { code: 'ECONNREFUSED' });
  const fault = new Fault('unreachable', 'the platform did not answer', {
    hint: 'check the network',
    requestId: 'req_1',
    cause,
  });
  logger.warn({ error: fault }, 'gave up');
  expect(line().error).toEqual({
    class: 'Fault',
    code: 'unreachable',
    message: 'the platform did not answer',
    hint: 'check the network',
    requestId: 'req_1',
    cause: { class: 'Error', code: 'ECONNREFUSED' },
  });
});

test('log: stack frames appear at level debug only, without the error message', () => {
  const error = new Error('Ada Lovelace\n    has two lines');
  const quiet = logging();
  quiet.logger.error({ error }, 'failed');
  expect(quiet.text()).not.toContain('stack');
  const loud = logging({ level: 'debug' });
  loud.logger.error({ error }, 'failed');
  expect(loud.text()).toContain('logging.test.ts');
  expect(loud.text()).not.toContain('Ada');
});

test('log: thrown values that are not errors, and cyclic causes, are logged safely', () => {
  const { logger, text } = logging();
  const circular = new Error('a');
  circular.cause = circular;
  for (const error of [circular, null, 'Ada', { name: 'Ada' }]) logger.error({ error }, 'failed');
  expect(text().trim().split('\n')).toHaveLength(4);
  expect(text()).not.toContain('Ada');
});

test('log: lines below the configured level are not written', () => {
  const { logger, text } = logging({ level: 'warn' });
  logger.debug({}, 'one');
  logger.info({}, 'two');
  logger.warn({}, 'three');
  expect(text()).toMatch(/^[^\n]*three[^\n]*\n$/);
});

test('log: format auto is readable on a terminal and JSON elsewhere', () => {
  const terminal = Object.assign(
    new Writable({ write: (chunk, _, done) => done(void lines.push(`${chunk}`)) }),
    {
      isTTY: true,
    },
  );
  const lines: string[] = [];
  logging({ format: 'auto', stream: terminal }).logger.info({ source: 'acme', rows: 3 }, 'page applied');
  expect(lines.join('')).toMatch(/^\[09:30:00\.000\] INFO: page applied \{"source":"acme","rows":3\}\n$/);
  const piped = logging({ format: 'auto' });
  piped.logger.info({}, 'page applied');
  expect(piped.line()).toMatchObject({ msg: 'page applied' });
});
