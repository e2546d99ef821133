import { instantFromMillis, millisOf } from '../domain/instant.js';
import { Interrupter } from '../runtime/interruption.js';
import { cursorWarningSeconds, feedRetentionSeconds } from '../wire/limits.js';
import { unrecordedFailureOf } from './failure-of.js';
import { keepLease } from './keep-lease.js';
import { PageReader } from './page-reader.js';
import { feedOf, planOf, type StartTime, Tick } from './perform-tick.js';
import { nothingApplied, type Opened, type SyncSource } from './ports.js';
import type { TickAsk, TickParts, TickResult } from './tick-parts.js';

/** Runs one tick: performs the effects `decide` returns, one after the other, until it ends. Never rejects. */
export async function runTick(
  source: SyncSource,
  ask: TickAsk,
  parts: TickParts,
  signal: AbortSignal,
): Promise<TickResult> {
  const start: StartTime = { at: parts.clock.now(), monotonic: parts.clock.monotonic() };
  const cut = new Interrupter();
  const reader = new PageReader(cut);
  let opened: Opened;
  let { identity } = source;
  try {
    const isExpected = ask.expected != null && ask.resync !== true && !signal.aborted;
    if (isExpected) await reader.readAhead(feedOf(source, ask.trigger), ask.expected);
    // A token that cannot be read shows no realm. The request for the first page reports it.
    identity = (await source.identify?.().catch(() => null)) ?? identity;
    // A tick that only follows the feed commits once: that commit takes the lease as well.
    opened = await parts.mirror.open(identity, parts.holder, { leaseLater: isExpected });
  } catch (error) {
    reader.drop();
    // Nothing may be written without a lease, not even this failure. The returned report is the only record.
    const { code, message, retryAt } = unrecordedFailureOf(error, planOf(ask, parts));
    if (code === 'internal') parts.logger.error({ error }, 'the mirror could not be opened');
    return {
      report: {
        trigger: ask.trigger,
        mode: 'none',
        startedAt: instantFromMillis(start.at),
        tookMs: Math.round(parts.clock.monotonic() - start.monotonic),
        pages: 0,
        applied: nothingApplied,
        outcome: 'failed',
        code,
        message,
        retryAt,
      },
      phase: null,
      publishedThrough: null,
      grant: 'not_asked',
      recorded: false,
    };
  }
  warnOfAge(opened, parts);
  const stop = () => cut.abort();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const tick = new Tick({ source, identity, ask, parts, opened, reader, start });
  const keeping = keepLease({ ...parts, lease: opened.lease }, parts.options.leaseRenewMillis, (error) => {
    tick.lost = error;
    cut.abort();
  });
  try {
    return await tick.run(keeping);
  } finally {
    signal.removeEventListener('abort', stop);
    await keeping.stop();
    if (!tick.endWritten)
      await parts.mirror.release(opened.lease).catch((error: unknown) => {
        // The lease expires by itself; only another holder would have to wait for that.
        parts.logger.debug({ error }, 'the lease could not be released');
      });
  }
}

/** Warns of a cursor close to expiry. Repeats only while ticks fail: a page stores a fresh cursor. */
function warnOfAge({ cursorSavedAt }: Opened, { clock, logger }: TickParts): void {
  if (cursorSavedAt === null || clock.now() - millisOf(cursorSavedAt) < cursorWarningSeconds * 1000) return;
  const until = instantFromMillis(millisOf(cursorSavedAt) + feedRetentionSeconds * 1000);
  logger.warn({ until }, 'the position in the feed is old: when it expires, everything is listed again');
}
