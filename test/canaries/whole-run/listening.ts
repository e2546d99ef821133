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

/** Time is not said: a simulated world forbids to ask for the real one. */
const clock: Clock = { now: () => 0, monotonic: () => 0, wait: () => Promise.resolve() };

/** The product's own log at its most talkative, kept. */
export const listening: Logger = createLogger({
  ...{ level: 'debug', format: 'json', stream, color: false, clock },
});

/** Whatever a test asks of its logger stays as it was; the other one hears everything as well. */
export function heard(logger: Logger, listener: Logger = listening): Logger {
  const both =
    (level: 'debug' | 'info' | 'warn' | 'error'): Logger['info'] =>
    (fields, message) => {
      logger[level](fields, message);
      listener[level](fields, message);
    };
  return {
    ...{ debug: both('debug'), info: both('info'), warn: both('warn'), error: both('error') },
    child: (fields) => heard(logger.child(fields), listener.child(fields)),
  };
}
