import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import { type BackoffPlan, backoffMillis } from '../runtime/backoff.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import { rareWarning } from '../runtime/rare-warning.js';
import { startWakeableLoop } from '../runtime/wakeable-loop.js';
import { foldNotices } from './decide-notices.js';
import { type DueNotice, noticeWaitMillisMax, type Outbox, type Send, type Sent } from './ports.js';

export interface DeliveryParts {
  readonly outbox: Outbox;
  /** Senders by target name. */
  readonly targets: ReadonlyMap<string, Send>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface Delivery extends Closable {
  /** Notices were queued: look now. */
  wake(): void;
}

const backoff: BackoffPlan = { baseMillis: 5_000, capMillis: 15 * 60_000 };
/** Half of the base wait is fixed, so that full jitter cannot retry a failing receiver without pause. */
const waitMillisMin = 2_500;
/**
 * A notice that fails for a day is given up; `status` shows how many were. A notice may have waited that long for a stopped
 * daemon or behind others, and the receiver may only be limiting its rate: so never before its third attempt. The stop may
 * have interrupted one.
 */
const giveUpMillis = 24 * 3_600_000;
/** On SQLite, reading a batch costs as much as there are notices that wait. */
const batch = 500;
/** Minimum time between the last attempt at one notice about a record and the first attempt at the next. */
const gapMillis = 60_000;
const idleMillis = 60_000;

/**
 * Delivers the notices that commits queued, at least once: a notice is settled after its receiver accepted it, so a
 * crash in between sends it again with the same message id. Receivers are independent: none waits for another one's
 * backlog. For one receiver the order of changes is kept: the first notice that fails delays the later ones until its
 * next attempt, so a receiver that is down gets one request per wait and not one per notice. Two notices about one record
 * are a minute apart, counted from the last attempt at the first one, whether it succeeded or not.
 */
export function startDelivery(parts: DeliveryParts): Delivery {
  const { outbox, clock, logger } = parts;
  const stopping = new AbortController();
  /** The receivers that are being sent notices. */
  const sending = new Map<string, Promise<void>>();
  const logFailure = rareWarning(clock, logger, 'notices could not be read or settled');
  const warn = (error: unknown) => {
    if (!stopping.signal.aborted) logFailure({ error });
  };

  const begin = (target: string) => {
    const ended = deliverTo(target, parts, stopping.signal).then(
      (found) => {
        sending.delete(target);
        if (found) loop.look();
      },
      (error: unknown) => {
        // Not read again at once: the database may be away.
        sending.delete(target);
        warn(error);
      },
    );
    sending.set(target, ended);
  };

  const loop = startWakeableLoop(clock, stopping, async () => {
    try {
      const now = clock.now();
      const others = (await outbox.waiting()).filter(({ target }) => !sending.has(target));
      const due = others.filter(({ dueAt }) => isDue(dueAt, now));
      for (const { target } of due) begin(target);
      const later = others.filter((one) => !due.includes(one)).map(({ dueAt }) => millisOf(dueAt) - now);
      return Math.min(idleMillis, ...later);
    } catch (error) {
      warn(error);
      return idleMillis;
    }
  });
  return {
    wake: loop.look,
    close: async () => {
      await loop.close();
      await Promise.all(sending.values());
    },
  };
}

/**
 * Runs one round: sends every receiver its due notices. Returns when the next remaining notice is due, or null when
 * none remain. Throws the first failure of the outbox, once every receiver's part has ended: the database must not close
 * under one that is still sending.
 */
export async function deliverDue(parts: DeliveryParts, signal: AbortSignal): Promise<number | null> {
  const now = parts.clock.now();
  const due = (await parts.outbox.waiting()).filter(({ dueAt }) => isDue(dueAt, now));
  const ended = await Promise.allSettled(due.map(({ target }) => deliverTo(target, parts, signal)));
  const failed = ended.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
  const left = await parts.outbox.waiting();
  return left.length === 0 ? null : Math.min(...left.map(({ dueAt }) => millisOf(dueAt)));
}

const isDue = (dueAt: Instant, now: number) =>
  millisOf(dueAt) <= now || millisOf(dueAt) - now > noticeWaitMillisMax;

/** Sends a receiver its due notices. Returns whether there were any. */
async function deliverTo(target: string, parts: DeliveryParts, signal: AbortSignal): Promise<boolean> {
  const { outbox, clock } = parts;
  // Terminates: each turn settles its batch or ends here.
  for (let found = false; ; found = true) {
    const notices = await outbox.dueFor(target, instantFromMillis(clock.now()), batch);
    for (const notice of notices) {
      if (signal.aborted) return true;
      const continues = await deliver(target, notice, parts, signal);
      if (!continues) return true;
    }
    if (notices.length < batch) return found || notices.length > 0;
  }
}

/** Sends a notice, unless it has to wait. Returns whether the next notice to the same receiver may be sent now. */
async function deliver(
  target: string,
  notice: DueNotice,
  parts: DeliveryParts,
  signal: AbortSignal,
): Promise<boolean> {
  const { outbox, clock, logger, targets } = parts;
  const send = targets.get(target);
  if (send === undefined) {
    await outbox.begin(notice.notice);
    const at = instantFromMillis(clock.now());
    await outbox.giveUp(notice.notice, at, 'no receiver of that name is configured any more');
    return true;
  }
  if (await comesTooSoon(notice, parts)) return true;
  // A commit may have changed or deleted it since it was read.
  const body = await outbox.begin(notice.notice);
  if (body === null) return true;
  const sent = await send({ ...notice, body }, signal);
  // Aborted by our own shutdown: whether it arrived is unknown, so it is sent again.
  if (signal.aborted && sent.kind !== 'delivered') return false;
  const continues = await settle(notice, sent, parts);
  if (sent.kind !== 'delivered')
    logger.warn(
      { endpoint: target, attempt: notice.attempts + 1, hint: sent.why },
      'a notice was not delivered',
    );
  return continues;
}

/**
 * Returns whether the receiver got a notice about the same record less than a minute ago. The notice then waits, or
 * is merged into one that waits already. The commit that queues a notice cannot decide this alone, because attempts
 * may come much later. The times of attempts are stored, so a restart changes nothing.
 */
async function comesTooSoon(read: DueNotice, { outbox, clock }: DeliveryParts): Promise<boolean> {
  const { notice, body } = read;
  const now = clock.now();
  // A time after that was written while a clock was wrong.
  const until = instantFromMillis(now + gapMillis);
  const { triedAt, earlier } = await outbox.about(notice, instantFromMillis(now - gapMillis), until);
  if (earlier !== null) {
    const folded = foldNotices(earlier.body, body);
    if (folded === null) await outbox.drop(earlier.notice, read);
    else await outbox.merge(earlier.notice, read, folded);
    return true;
  }
  if (triedAt === null) return false;
  await outbox.putOff(notice, instantFromMillis(millisOf(triedAt) + gapMillis));
  return true;
}

/** Settles a notice. Returns whether the next notice to the same receiver may be sent now. */
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
  const isOld = now - millisOf(notice.queuedAt) >= giveUpMillis;
  if (sent.kind === 'refused' || (isOld && notice.attempts > 1)) {
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
