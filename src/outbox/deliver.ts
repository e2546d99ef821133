import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import { type BackoffPlan, backoffMillis } from '../runtime/backoff.js';
import type { Clock } from '../runtime/clock.js';
import { Interrupter } from '../runtime/interruption.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import type { DueNotice, Outbox, Send, Sent } from './ports.js';

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
const idleMillis = 60_000;

/**
 * Delivers what commits have queued, at least once: a notice is settled after its receiver took it, so a crash
 * in between sends it again, under the same message id. Receivers do not wait for one another. For one receiver
 * the order of changes is kept: the first that fails holds up those behind it until its next attempt, so that a
 * receiver that is down is asked once per wait and not once per notice.
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
  const due = (await parts.outbox.waiting()).filter(({ dueAt }) => millisOf(dueAt) <= parts.clock.now());
  await Promise.all(due.map(({ target }) => deliverTo(target, parts, signal)));
  const left = await parts.outbox.waiting();
  return left.length === 0 ? null : Math.min(...left.map(({ dueAt }) => millisOf(dueAt)));
}

async function deliverTo(target: string, parts: DeliveryParts, signal: AbortSignal): Promise<void> {
  const { outbox, clock, logger, targets } = parts;
  const send = targets.get(target);
  // Each turn settles what it was given or ends here.
  for (;;) {
    const notices = await outbox.dueFor(target, instantFromMillis(clock.now()), batch);
    for (const notice of notices) {
      if (signal.aborted) return;
      if (send === undefined) {
        await outbox.giveUp(notice.notice, 'nobody of that name is configured any more');
        continue;
      }
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
    await outbox.giveUp(notice.notice, sent.why);
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
