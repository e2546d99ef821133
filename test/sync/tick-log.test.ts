import { expect, test } from 'vitest';
import type { FaultCode } from '../../src/domain/fault.js';
import type { Instant } from '../../src/domain/instant.js';
import { type Logger, silentLogger } from '../../src/runtime/logger.js';
import { nothingApplied, type TickReport } from '../../src/sync/ports.js';
import { TickLog } from '../../src/sync/tick-log.js';
import { VirtualClock } from './support/virtual-clock.js';

const minute = 60_000;

function logFixture() {
  const clock = new VirtualClock();
  const warnings: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (fields) => warnings.push(`${(clock.monotonic() / minute).toFixed(0)} ${String(fields.code)}`),
  };
  const log = new TickLog(logger, clock);
  const ended = (outcome: TickReport['outcome'], code: FaultCode | null = null) =>
    log.ended({
      report: {
        ...{ trigger: 'timer', mode: 'none', startedAt: '2026-11-01T00:00:00.000Z' as Instant, tookMs: 1 },
        ...{ pages: 0, applied: nothingApplied },
        ...{ outcome, code, message: null, retryAt: null },
      },
      phase: null,
      publishedThrough: null,
      grant: 'not_asked',
      recorded: false,
    });
  return { clock, warnings, ended };
}

test('tick log: a source that fails four times a minute for four hours warns every ten minutes', async () => {
  const { clock, warnings, ended } = logFixture();
  const begun = clock.monotonic();
  for (; clock.monotonic() - begun < 4 * 60 * minute; await clock.advance(15_000))
    ended('failed', 'database_busy');
  expect(warnings).toHaveLength(24);
});

test('tick log: another reason and a failure after a success are warnings at once', () => {
  const { warnings, ended } = logFixture();
  ended('failed', 'database_busy');
  ended('failed', 'database_busy');
  ended('failed', 'unreachable');
  ended('done');
  ended('failed', 'unreachable');
  expect(warnings.map((line) => line.split(' ')[1])).toEqual(['database_busy', 'unreachable', 'unreachable']);
});
