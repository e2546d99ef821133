import { instantFromMillis, millisOf } from '../domain/instant.js';
import { type BackoffPlan, backoffMillis } from '../runtime/backoff.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import { rareWarning } from '../runtime/rare-warning.js';
import { startWakeableLoop } from '../runtime/wakeable-loop.js';
import {
  type AfterSyncMessage,
  type AfterSyncState,
  type AfterSyncStore,
  noticeWaitMillisMax,
  type Send,
  type SourceChanges,
} from './ports.js';

/** A program or address that runs after a sync that changed rows. */
export interface AfterSyncHook {
  readonly name: string;
  /** Null for changes of every source. */
  readonly sources: readonly string[] | null;
  /** How long a run waits for further changes after the first one that it reports. */
  readonly delayMillis: number;
  readonly send: Send;
}

export interface AfterSyncParts {
  readonly hook: AfterSyncHook;
  readonly store: AfterSyncStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** In a fleet, the leader alone runs hooks. */
  leads(): boolean;
  /** Called after each failed run, and at the start of its lead while the last run had failed. */
  onFailure(why: string): void;
  /** Called after each successful run. */
  onSuccess(): void;
}

/** A run whose result could not be stored. It is stored later, and the hook does not run again for it. */
interface Unsettled {
  readonly message: AfterSyncMessage;
  readonly settle: () => Promise<void>;
}

export interface AfterSync extends Closable {
  /** Rows may have changed: look now. */
  look(): void;
}

const backoff: BackoffPlan = { baseMillis: 5_000, capMillis: 15 * 60_000 };
const waitMillisMin = 2_500;
/**
 * A message that fails for a day is given up; the next change starts a run that reports its changes as well. Never at its
 * first attempt: it may have waited that long for a stopped daemon.
 */
const giveUpMillis = 24 * 3_600_000;
const idleMillis = 60_000;

/**
 * Runs a hook after syncs that changed rows: one run at a time, and one for all changes of `delayMillis` and of the time
 * that the previous run took. Ticks never wait for it. Each run reports the changes after those of the last successful
 * run, so none is left out; a run that failed is repeated with the same message, so a receiver can detect repeats. The
 * message is stored before it is sent, which keeps this true across restarts. A result that cannot be stored, because another
 * program has the write lock of a SQLite file, is stored later instead of running the hook again.
 */
export function startAfterSync(parts: AfterSyncParts): AfterSync {
  const { clock, logger } = parts;
  const stopping = new AbortController();
  const logFailure = rareWarning(clock, logger, 'the after-sync hooks could not be read or settled');
  let first = true;
  const last: { unsettled: Unsettled | null } = { unsettled: null };
  return startWakeableLoop(clock, stopping, async () => {
    if (!parts.leads()) {
      // Another leader's failure is reported as soon as this daemon leads.
      first = true;
      last.unsettled = null;
      return idleMillis;
    }
    try {
      const wait = await step(parts, first, stopping.signal, last);
      first = false;
      return wait;
    } catch (error) {
      if (!stopping.signal.aborted) logFailure({ error });
      return idleMillis;
    }
  });
}

/** Makes one step: nothing, one message, one attempt, or its result. Returns how long to wait for the next one. */
export async function step(
  parts: AfterSyncParts,
  first: boolean,
  signal: AbortSignal,
  last: { unsettled: Unsettled | null } = { unsettled: null },
): Promise<number> {
  const { hook, store, clock } = parts;
  const state = await store.state(hook.name);
  if (first && state.lastError !== null) parts.onFailure(state.lastError);
  const { message } = state;
  if (message === null) return await prepare(parts, state);
  if (last.unsettled === null || !isSame(last.unsettled.message, message)) {
    const until = millisOf(message.nextAt) - clock.now();
    // A longer wait was written while a clock was wrong.
    if (until > 0 && until <= noticeWaitMillisMax) return until;
    const settle = await attempt(parts, message, signal);
    if (settle === null) return 0;
    last.unsettled = { message, settle };
  }
  await last.unsettled.settle();
  last.unsettled = null;
  return 0;
}

const isSame = (one: AfterSyncMessage, other: AfterSyncMessage): boolean =>
  one.lastSeq === other.lastSeq && one.queuedAt === other.queuedAt && one.attempts === other.attempts;

/** Stores the message for the changes since the last successful run, once the first of them is old enough. */
async function prepare({ hook, store, clock }: AfterSyncParts, state: AfterSyncState): Promise<number> {
  const now = clock.now();
  const fresh = await store.firstChange(state.triedSeq, hook.sources);
  if (fresh === null) return idleMillis;
  const due = millisOf(fresh) + hook.delayMillis - now;
  // Versions carry the time of a clock that was ahead until the wall clock reaches it.
  if (due > 0 && due <= hook.delayMillis) return due;
  const changes = await store.changesAfter(state.doneSeq, hook.sources);
  const lastSeq = Math.max(...changes.map(({ last_seq }) => last_seq));
  const body = messageBody(hook.name, changes, now);
  const queued = await store.queue(hook.name, state, { body, lastSeq, at: instantFromMillis(now) });
  // In a fleet, another leader stored one meanwhile. This member may not lead any more: look again a little later.
  return queued ? 0 : waitMillisMin;
}

/** The message of a run in JSON. Its field names are a public contract: only add. It contains no identity. */
function messageBody(hook: string, sources: readonly SourceChanges[], now: number): string {
  return JSON.stringify({
    type: 'sync.changed',
    hook,
    at: instantFromMillis(now),
    first_seq: Math.min(...sources.map(({ first_seq }) => first_seq)),
    last_seq: Math.max(...sources.map(({ last_seq }) => last_seq)),
    sources,
  });
}

/** Runs the hook. Returns what stores the result, or null when a stop ended it. */
async function attempt(
  parts: AfterSyncParts,
  message: AfterSyncMessage,
  signal: AbortSignal,
): Promise<(() => Promise<void>) | null> {
  const { hook, store, clock, random, logger } = parts;
  const began = clock.monotonic();
  const sent = await hook.send(
    {
      notice: message.lastSeq,
      source: '',
      target: `after-sync.${hook.name}`,
      body: message.body,
      queuedAt: message.queuedAt,
      attempts: message.attempts,
    },
    signal,
  );
  // Ended by our own shutdown: whether it did its work is unknown, so it runs again.
  if (signal.aborted && sent.kind !== 'delivered') return null;
  const now = clock.now();
  const at = instantFromMillis(now);
  const logged = {
    endpoint: hook.name,
    attempt: message.attempts + 1,
    tookMs: Math.round(clock.monotonic() - began),
  };
  if (sent.kind === 'delivered')
    return async () => {
      await store.succeeded(hook.name, message, at);
      logger.info(logged, 'an after-sync hook ran');
      parts.onSuccess();
    };
  logger.warn({ ...logged, hint: sent.why }, 'an after-sync hook failed');
  parts.onFailure(sent.why);
  const isOld = now - millisOf(message.queuedAt) >= giveUpMillis;
  if (sent.kind === 'refused' || (isOld && message.attempts > 0))
    return () => store.giveUp(hook.name, message, at, sent.why);
  const wait = Math.max(
    sent.afterMillis ?? 0,
    waitMillisMin,
    backoffMillis(backoff, message.attempts, random),
  );
  const nextAt = instantFromMillis(now + wait);
  return () => store.retryLater(hook.name, message, at, nextAt, sent.why);
}
