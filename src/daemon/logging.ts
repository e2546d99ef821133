import { createRequire } from 'node:module';
import type { Writable } from 'node:stream';
import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { defined } from '../domain/defined.js';
import { Fault } from '../domain/fault.js';
import { instantFromMillis } from '../domain/instant.js';
import { printable } from '../domain/printable.js';
import type { Clock } from '../runtime/clock.js';
import type { LogTail } from '../runtime/log-tail.js';
import type { LogFields, Logger } from '../runtime/logger.js';
import { maskCredentials } from '../wire/credential-shapes.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LoggingOptions {
  readonly level: LogLevel;
  /** `auto` is readable on a terminal and JSON lines elsewhere. */
  readonly format: 'auto' | 'pretty' | 'json';
  readonly stream: Writable & { readonly isTTY?: boolean };
  readonly color: boolean;
  readonly clock: Clock;
  /** Gets every line as JSON. */
  readonly tail?: LogTail;
}

/** The type makes this list complete: a new field of LogFields does not compile until it is added here. */
const kinds: { readonly [Field in keyof Required<LogFields>]: 'text' | 'number' | 'address' | 'error' } = {
  component: 'text',
  application: 'text',
  source: 'text',
  code: 'text',
  type: 'text',
  hint: 'text',
  status: 'number',
  requestId: 'text',
  method: 'text',
  path: 'address',
  event: 'text',
  eventId: 'text',
  installation: 'text',
  rule: 'text',
  reason: 'text',
  investment: 'text',
  endpoint: 'text',
  trigger: 'text',
  mode: 'text',
  state: 'text',
  outcome: 'text',
  page: 'number',
  pages: 'number',
  rows: 'number',
  added: 'number',
  changed: 'number',
  removed: 'number',
  quarantined: 'number',
  attempt: 'number',
  count: 'number',
  tookMs: 'number',
  waitMs: 'number',
  until: 'text',
  url: 'address',
  file: 'text',
  version: 'text',
  pid: 'number',
  signal: 'text',
  error: 'error',
};

/** Longer than any id, path or hint rosterd writes; longer texts come from outside and are truncated. */
const textMax = 500;

/**
 * Returns the daemon's logger. It writes only the fields listed above, each with its declared type, so that identity
 * and secrets cannot reach the log inside an object that was passed as a whole.
 */
export function createLogger(options: LoggingOptions): Logger {
  const { level, stream, clock } = options;
  const readable = options.format === 'pretty' || (options.format === 'auto' && stream.isTTY === true);
  const written: DestinationStream = readable
    ? prettyStream(stream, options.color)
    : { write: (line) => void stream.write(line) };
  const destination: DestinationStream = {
    write: (line) => {
      options.tail?.push(line);
      written.write(line);
    },
  };
  const base = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${instantFromMillis(clock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return wrapped(base, level === 'debug');
}

/**
 * Uses pino-pretty as a function: its worker thread would lose the last lines when the process exits. A log that is not
 * read on a terminal does not load it.
 */
function prettyStream(stream: Writable, colorize: boolean): DestinationStream {
  const { prettyFactory }: typeof import('pino-pretty') = createRequire(import.meta.url)('pino-pretty');
  const format = prettyFactory({
    colorize,
    singleLine: true,
    translateTime: 'UTC:HH:MM:ss.l',
    ignore: 'pid,hostname',
  });
  return { write: (line) => void stream.write(format(line)) };
}

/** Merges the fields of a child logger here: pino would write a key twice that both parent and child have. */
function wrapped(target: PinoLogger, withStack: boolean, bound: Record<string, unknown> = {}): Logger {
  const merged = (fields: LogFields) => ({ ...bound, ...allowed(fields, withStack) });
  return {
    debug: (fields, message) => target.debug(merged(fields), safeText(message)),
    info: (fields, message) => target.info(merged(fields), safeText(message)),
    warn: (fields, message) => target.warn(merged(fields), safeText(message)),
    error: (fields, message) => target.error(merged(fields), safeText(message)),
    child: (fields) => wrapped(target, withStack, merged(fields)),
  };
}

function allowed(fields: LogFields, withStack: boolean): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [field, kind] of Object.entries(kinds)) {
    const value = fields[field as keyof LogFields];
    if (kind === 'error' && value !== undefined) kept[field] = reducedError(value, withStack);
    else if (kind === 'number' && typeof value === 'number') kept[field] = value;
    else if (kind === 'text' && typeof value === 'string') kept[field] = safeText(value);
    else if (kind === 'address' && typeof value === 'string') kept[field] = safeText(withoutQuery(value));
  }
  return kept;
}

function safeText(text: string): string {
  const safe = maskCredentials(printable(text));
  return safe.length > textMax ? `${safe.slice(0, textMax)}…` : safe;
}

/** Removes the query, which may contain cursors and codes, and the user part, which may contain a password. */
function withoutQuery(address: string): string {
  return address.replace(/[?#].*$/s, '').replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/@]*@/i, '$1');
}

/**
 * Keeps the message of a Fault, which is written to be shown. The message of any other error may quote data, so only
 * its class and code are kept. One level of cause tells a reset from a refused connection and ends a cycle of causes.
 */
function reducedError(error: unknown, withStack: boolean, withCause = true): Record<string, unknown> {
  if (!(error instanceof Error)) return { class: error === null ? 'null' : typeof error };
  return {
    class: safeText(error.constructor.name),
    ...('code' in error && typeof error.code === 'string' ? { code: safeText(error.code) } : {}),
    ...(error instanceof Fault ? fieldsOfFault(error) : {}),
    ...(withCause && error.cause instanceof Error
      ? { cause: reducedError(error.cause, withStack, false) }
      : {}),
    ...(withStack ? { stack: framesOf(error) } : {}),
  };
}

function fieldsOfFault({ message, about }: Fault): Record<string, unknown> {
  const { hint, retryAt, type, status, requestId } = about;
  return {
    message: safeText(message),
    ...(hint === undefined ? {} : { hint: safeText(hint) }),
    ...defined({ retryAt }),
    ...(type === undefined ? {} : { type: safeText(type) }),
    ...defined({ status }),
    ...(requestId === undefined ? {} : { requestId: safeText(requestId) }),
  };
}

/** Returns the stack frames without the message, which may quote data. */
function framesOf(error: Error): readonly string[] {
  const lines = (error.stack ?? '').split('\n');
  return lines.filter((line) => /^ {4}at /.test(line)).map((line) => printable(line.trim()));
}
