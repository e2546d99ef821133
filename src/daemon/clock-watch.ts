import type { PlatformTime } from '../client/platform-time.js';
import { instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthRegister } from '../runtime/health-register.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { signatureToleranceSeconds } from '../wire/signature.js';
import type { Engine } from './engine.js';

export interface ClockWatchParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly health: HealthRegister;
  /** The platform's clock, from the `Date` header of its responses. */
  readonly platform: Pick<PlatformTime, 'aheadMillis' | 'sinceObservedMillis'>;
}

/** Starts a clock watch that runs until `lifecycle` closes. */
export function watchClock(
  { health, platform, sync }: Pick<Engine, 'health' | 'platform' | 'sync'>,
  { clock, logger }: Pick<ClockWatchParts, 'clock' | 'logger'>,
  lifecycle: Lifecycle,
): ClockWatch {
  const watch = createClockWatch({
    clock,
    health,
    platform: platform.client.time,
    logger: logger.child({ component: 'clock' }),
  });
  lifecycle.add(
    'clock watch',
    sync.onTick(() => watch.look()),
  );
  return watch;
}

export interface ClockWatch {
  /** Records a delivery with a valid signature: null for a timely one, else how far its signer's clock is ahead. */
  delivered(signerAheadSeconds: number | null): void;
  /** Compares this clock with the platform's responses. Called after each tick. */
  look(): void;
}

const key = 'clock-skew';
const setClock = 'Set this clock: sudo timedatectl set-ntp true';
/** The advice when responses and deliveries of the platform disagree: the clock of the responses is trusted. */
const askPlatform =
  "The platform's answers agree with this clock, so whatever signs its deliveries is wrong, or someone repeats old ones";
/** How long a response counts as evidence: the clock may have been set since. */
const knownMillis = 3_600_000;
/** Replayed deliveries have valid signatures too. While both clocks agree, this many late ones raise the alarm. */
const lateMax = 3;
/** The shortest time between two warnings, for a clock that keeps changing. */
const warnMillis = 3_600_000;

/**
 * Detects that this clock and the platform's differ by more than the signature tolerance. The receiver then rejects
 * every webhook with 401 while each tick succeeds, so nothing else would show the problem. Logs one warning, and keeps
 * a problem in the health register until the platform's responses and a delivery agree with this clock again.
 */
export function createClockWatch({ clock, logger, health, platform }: ClockWatchParts): ClockWatch {
  let late = 0;
  let lateAheadSeconds = 0;
  let lateAt = 0;
  let isReported = false;
  let warnedAt = Number.NEGATIVE_INFINITY;

  const judge = () => {
    const now = clock.monotonic();
    if (now - lateAt > knownMillis) late = 0;
    const isKnown = platform.sinceObservedMillis <= knownMillis;
    const aheadSeconds = Math.round(platform.aheadMillis / 1000);
    const isOff = isKnown && Math.abs(aheadSeconds) > signatureToleranceSeconds;
    if (isOff) return report(`the platform's clock is ${apart(aheadSeconds)}`, setClock);
    if (late >= (isKnown ? lateMax : 1))
      return report(
        `deliveries were signed by a clock that is ${apart(lateAheadSeconds)}`,
        isKnown ? askPlatform : setClock,
      );
    if (!isReported) return;
    isReported = false;
    health.clear(key);
    logger.info({}, 'this clock and that of the platform agree again');
  };

  const report = (what: string, mend: string) => {
    const text = `${what}, and signatures are accepted within ${signatureToleranceSeconds} s: genuine webhooks are refused with 401. ${mend}`;
    health.report(key, { severity: 'attention', text, since: instantFromMillis(clock.now()) });
    if (!isReported && clock.monotonic() - warnedAt >= warnMillis) {
      warnedAt = clock.monotonic();
      logger.warn({ code: key, hint: text }, 'a clock is wrong: genuine webhooks are refused');
    }
    isReported = true;
  };

  return {
    delivered: (signerAheadSeconds) => {
      if (signerAheadSeconds === null) late = 0;
      else {
        late += 1;
        lateAheadSeconds = signerAheadSeconds;
        lateAt = clock.monotonic();
      }
      judge();
    },
    look: judge,
  };
}

const apart = (aheadSeconds: number): string =>
  `${Math.abs(aheadSeconds)} s ${aheadSeconds < 0 ? 'behind' : 'ahead of'} this one`;
