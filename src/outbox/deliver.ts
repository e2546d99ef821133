import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import { type BackoffPlan, backoffMillis } from '../runtime/backoff.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import { foldNotices } from './decide-notices.js';
import { type DueNotice, noticeWaitMillisMax, type Outbox, type Send, type Sent } from './ports.js';

export interface DeliveryParts {
  readonly outbox: Outbox;
  /** By name. */
  readonly targets: ReadonlyMap<string, Send>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface Delivery extends Closable {
  /** Something was queued: look now. */
  wake(): void;
}

const backoff: BackoffPlan = { baseMillis: 5_000, capMillis: 15 * 60_000 };
/** Half of it is certain, so that full jitter cannot make a failing receiver busy. */
const waitMillisMin = 2_500;
/** What a receiver would not take for a day, it is not told any more; `status` shows how many. */
const giveUpMillis = 24 * 3_600_000;
const batch = 50;
/** From the end of the last attempt at one notice about a record to the first attempt at the next. */
const gapMillis = 60_000;
const idleMillis = 60_000;

/**
 * Delivers what commits have queued, at least once: a notice is settled after its receiver took it, so a crash
 * in between sends it again, under the same message id. Receivers do not wait for one another. For one receiver
 * the order of changes is kept: the first that fails holds up those behind it until its next attempt, so that a
 * receiver that is down is asked once per wait and not once per notice. Two notices about one record are a minute
 * apart, counted from the last attempt at the first one, whether it was taken or refused.
 */
export function startDelivery(parts: DeliveryParts): Delivery {
  const { clock, logger } = parts;
  const stopping = new AbortController();
  let asleep = new Interrupter();
  let woken = false;

  const run = async () => {
    while (!stopping.signal.aborted) {
      woken = false;
      let nextAt: number | null = null;
      try {
        nextAt = await deliverDue(parts, stopping.signal);
      } catch (error) {
        if (!stopping.signal.aborted) logger.warn({ error }, 'notices could not be read or settled');
      }
      if (woken || stopping.signal.aborted) continue;
      asleep = new Interrupter();
      const until = nextAt === null ? idleMillis : Math.max(0, Math.min(idleMillis, nextAt - clock.now()));
      await clock.wait(until, asleep);
    }
  };
  const running = run();
  return {
    wake: () => {
      woken = true;
      asleep.abort();
    },
    close: async () => {
      stopping.abort();
      asleep.abort();
      await running;
    },
  };
}

/** One round: every receiver gets what is due to it. Answers when the next of what is left is due. */
export async function deliverDue(parts: DeliveryParts, signal: AbortSignal): Promise<number | null> {
  const now = parts.clock.now();
  const due = (await parts.outbox.waiting()).filter(({ dueAt }) => isDue(dueAt, now));
  await Promise.all(due.map(({ target }) => deliverTo(target, parts, signal)));
  const left = await parts.outbox.waiting();
  return left.length === 0 ? null : Math.min(...left.map(({ dueAt }) => millisOf(dueAt)));
}

const isDue = (dueAt: Instant, now: number) =>
  millisOf(dueAt) <= now || millisOf(dueAt) - now > noticeWaitMillisMax;

async function deliverTo(target: string, parts: DeliveryParts, signal: AbortSignal): Promise<void> {
  const { outbox, clock, logger, targets } = parts;
  const send = targets.get(target);
  // Each turn settles what it was given or ends here.
  for (;;) {
    const notices = await outbox.dueFor(target, instantFromMillis(clock.now()), batch);
    for (const notice of notices) {
      if (signal.aborted) return;
      if (send === undefined) {
        const at = instantFromMillis(clock.now());
        await outbox.giveUp(notice.notice, at, 'nobody of that name is configured any more');
        continue;
      }
      if (await comesTooSoon(notice, parts)) continue;
      const sent = await send(notice, signal);
      // Cut off by our own end: whether it arrived is unknown, so it is sent again.
      if (signal.aborted && sent.kind !== 'delivered') return;
      const goesOn = await settle(notice, sent, parts);
      if (sent.kind !== 'delivered')
        logger.warn(
          { endpoint: target, attempt: notice.attempts + 1, hint: sent.why },
          'a notice was not taken',
        );
      if (!goesOn) return;
    }
    if (notices.length < batch) return;
  }
}

/**
 * Whether the receiver heard of the same record less than a minute ago. The notice then waits, or is folded into one
 * that waits already. This is decided here and not only by the commit that queues it: attempts may come much later,
 * and what they told is on disk, so that a restart changes nothing.
 */
async function comesTooSoon({ notice, body }: DueNotice, { outbox, clock }: DeliveryParts): Promise<boolean> {
  const now = clock.now();
  const { triedAt, earlier } = await outbox.about(notice, instantFromMillis(now - gapMillis));
  if (earlier !== null) {
    const folded = foldNotices(earlier.body, body);
    if (folded === null) await outbox.drop([earlier.notice, notice]);
    else await outbox.merge(earlier.notice, notice, folded);
    return true;
  }
  // A time that lies ahead was written while a clock was wrong.
  if (triedAt === null || millisOf(triedAt) > now + gapMillis) return false;
  await outbox.putOff(notice, instantFromMillis(millisOf(triedAt) + gapMillis));
  return true;
}

/** Whether the next notice of the same receiver may be sent now. */
async function settle(
  notice: DueNotice,
  sent: Sent,
  { outbox, clock, random }: DeliveryParts,
): Promise<boolean> {
  const now = clock.now();
  if (sent.kind === 'delivered') {
    await outbox.delivered(notice.notice, instantFromMillis(now));
    return true;
  }
  if (sent.kind === 'refused' || now - millisOf(notice.queuedAt) >= giveUpMillis) {
    await outbox.giveUp(notice.notice, instantFromMillis(now), sent.why);
    return true;
  }
  const wait = Math.max(
    sent.afterMillis ?? 0,
    waitMillisMin,
    backoffMillis(backoff, notice.attempts, random),
  );
  const nextAt: Instant = instantFromMillis(now + wait);
  await outbox.retryLater(notice.notice, nextAt, sent.why);
  return false;
}
