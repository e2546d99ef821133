import { Writable } from 'node:stream';
import { vi } from 'vitest';
import type { Clock } from '../../../src/runtime/clock.js';
import type { Logger } from '../../../src/runtime/logger.js';
import { record } from './record.js';

const stream = new Writable({
  write(chunk, _, done) {
    record.said('log', String(chunk));
    done();
  },
});

const { createLogger } = await vi.importActual<typeof import('../../../src/daemon/logging.js')>(
  '../../../src/daemon/logging.js',
);

/** Output is recorded without times: a simulated run forbids reading the real clock. */
const clock: Clock = { now: () => 0, monotonic: () => 0, wait: () => Promise.resolve() };

/** The product's own logger at debug level, recorded. */
export const listening: Logger = createLogger({
  level: 'debug',
  format: 'json',
  stream,
  color: false,
  clock,
});

/** Returns a logger that passes everything to the test's logger unchanged and also to the listener. */
export function heard(logger: Logger, listener: Logger = listening): Logger {
  const both =
    (level: 'debug' | 'info' | 'warn' | 'error'): Logger['info'] =>
    (fields, message) => {
      logger[level](fields, message);
      listener[level](fields, message);
    };
  return {
    debug: both('debug'),
    info: both('info'),
    warn: both('warn'),
    error: both('error'),
    child: (fields) => heard(logger.child(fields), listener.child(fields)),
  };
}
