import { setImmediate } from 'node:timers/promises';
import { isFault } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Interruption } from '../runtime/interruption.js';
import { RowCount } from './count-rows.js';
import { decide, tickStart } from './decide.js';
import { failureOf, waitMillis } from './failure-of.js';
import { followGrant } from './follow-grant.js';
import type { GrantAnswer } from './grant-check.js';
import type { KeptLease } from './keep-lease.js';
import type { PageReader } from './page-reader.js';
import {
  type Applied,
  type Ending,
  type Feed,
  type Lease,
  nothingApplied,
  type Opened,
  type Phase,
  type ReceivedPage,
  type SourceIdentity,
  type SyncSource,
  type TickReport,
  type Trigger,
} from './ports.js';
import { type ShownGrant, shownBy } from './shown-grant.js';
import { StepGuard } from './step-guard.js';
import { modeOf } from './tick-mode.js';
import type { TickAsk, TickParts, TickResult } from './tick-parts.js';
import type { Decision, Effect, Halt, TickEnd, TickEvent } from './tick-state.js';
import { total } from './total.js';
import { unrecordedEnd } from './unrecorded-end.js';

/** When a tick began, on the wall clock and on the monotonic clock. */
export interface StartTime {
  readonly at: number;
  readonly monotonic: number;
}

interface TickOpened {
  readonly source: SyncSource;
  /** With the realm of the token, if it could be read. */
  readonly identity: SourceIdentity;
  readonly ask: TickAsk;
  readonly parts: TickParts;
  readonly opened: Opened;
  readonly reader: PageReader;
  readonly start: StartTime;
}

/** A tick of an opened source: performs the effects of `decide` until it returns an end. */
export class Tick {
  /** Set when another holder takes the lease during the tick. */
  lost: unknown;
  /** Whether the lease is still to be taken, by the first write. */
  leaseIsLater: boolean;
  #page: ReceivedPage | undefined;
  #pages = 0;
  #applied: Applied = nothingApplied;
  #mode: TickReport['mode'] = 'none';
  /** Of the last delta page. */
  #publishedThrough: Instant | null = null;
  /** Whether this tick began its listing, and what the pages of that show about the identity grant. */
  #begun = false;
  readonly #rowCount = new RowCount();
  #awaitingDeleted = false;
  #shown: ShownGrant = null;
  /** The report that the commit of the last page recorded, when it included the end of the tick. */
  #written: TickReport | undefined;

  readonly #source: SyncSource;
  readonly #identity: SourceIdentity;
  readonly #ask: TickAsk;
  readonly #parts: TickParts;
  readonly #opened: Opened;
  readonly #lease: Lease;
  readonly #reader: PageReader;
  readonly #start: StartTime;

  constructor({ source, identity, ask, parts, opened, reader, start }: TickOpened) {
    this.#source = source;
    this.#identity = identity;
    this.#ask = ask;
    this.#parts = parts;
    this.#opened = opened;
    this.#lease = opened.lease;
    this.#reader = reader;
    this.#start = start;
    this.leaseIsLater = opened.leaseLater === true;
  }

  get signal(): Interruption {
    return this.#reader.signal;
  }

  /** Whether the end of the tick is already recorded and the lease released. */
  get endWritten(): boolean {
    return this.#written !== undefined;
  }

  async run(keeping: KeptLease): Promise<TickResult> {
    try {
      const result = await this.#steps(keeping);
      return this.#awaitingDeleted ? { ...result, awaitingDeleted: true } : result;
    } catch (error) {
      this.#parts.logger.error({ error }, 'a tick failed with an unexpected error');
      const { code, message } = failureOf(error, planOf(this.#ask, this.#parts));
      const end: TickEnd = { outcome: 'failed', code, message, retryAt: null };
      const at = instantFromMillis(this.#parts.clock.now());
      const { phase } = this.#opened;
      const before = phase.kind === 'halted' ? phase.before : phase;
      return await this.#finish(end, { code, message }, { kind: 'halted', code, message, at, before });
    }
  }

  /** Loops until `decide` returns an end. `decide` bounds the loop, and `StepGuard` enforces the bound. */
  async #steps(keeping: KeptLease): Promise<TickResult> {
    const guard = new StepGuard();
    const { acceptDeletions = false } = this.#ask;
    let decision = decide(
      tickStart(this.#opened.phase, {
        acceptDeletions,
        breachWaitMillis: waitMillis(planOf(this.#ask, this.#parts)),
        quiet: this.#ask.trigger === 'manual' ? null : (this.#parts.options.quiet ?? null),
      }),
      openingEvent(this.#ask, this.#opened, this.#identity),
      this.#parts.clock.now(),
    );
    for (;;) {
      const { phase } = decision.next;
      for (const effect of decision.effects)
        if (effect.kind === 'prefetch' && !this.signal.aborted)
          await this.#reader.readAhead(this.#feed(phase), effect.position);
      const effect = mainEffect(decision);
      if (effect.kind === 'finish' || effect.kind === 'remain_halted')
        return await this.#finish(effect.end, effect.kind === 'finish' ? effect.halt : 'as it is', phase);
      guard.step(effect, phase);
      // A renewal after the commit that releases the lease would acquire it again.
      const end = this.#endBehind(effect, decision);
      if (end !== null) await keeping.stop();
      const event = await this.#perform(effect, phase, end).catch((error: unknown) =>
        this.#failed(effect, error),
      );
      decision = decide(decision.next, event, this.#parts.clock.now());
    }
  }

  /**
   * Returns how the tick ends if this effect is its last, else null. The commit of the last page then also records
   * the end and releases the lease: two transactions instead of four, and a page is never committed without its tick.
   */
  #endBehind(effect: Work, { next }: Decision): TickEnd | null {
    if (effect.kind !== 'apply_page' || this.#ask.checkGrant === true) return null;
    const { hasMore } = this.#pageAtHand();
    const event = { kind: 'delta_page_applied', reached: effect.reached, hasMore } as const;
    const last = mainEffect(decide(next, event, this.#parts.clock.now()));
    return last.kind === 'finish' && last.halt === null ? last.end : null;
  }

  #perform(effect: Work, phase: Phase, end: TickEnd | null): Promise<TickEvent> {
    switch (effect.kind) {
      case 'begin_listing':
        return this.#beginListing(effect);
      case 'fetch':
        return this.#fetch(effect, phase);
      case 'store_listing_page':
        return this.#storeListingPage(phase);
      case 'apply_page':
        return this.#applyPage(effect, end);
      case 'publish':
        return this.#publish(effect, phase);
      case 'delete_awaiting':
        return this.#deleteAwaiting(effect, phase);
    }
  }

  async #beginListing(effect: EffectOf<'begin_listing'>): Promise<TickEvent> {
    if (this.signal.aborted) return this.#cutShort();
    const { fingerprint } = this.#identity;
    const listing = await this.#parts.mirror.beginListing(this.#lease, { ...effect.start, fingerprint });
    this.leaseIsLater = false;
    this.#mode = modeOf({ kind: 'listing', listing });
    this.#begun = true;
    this.#shown = null;
    return { kind: 'listing_begun', listing };
  }

  async #fetch(effect: EffectOf<'fetch'>, phase: Phase): Promise<TickEvent> {
    this.#parts.onPage?.(phase.kind === 'empty' || phase.kind === 'listing', this.#pages);
    if (this.signal.aborted) return this.#cutShort();
    if (this.#mode === 'none') this.#mode = modeOf(phase);
    const page = await this.#reader.read(this.#feed(phase), effect.position);
    this.#page = page;
    this.#pages += 1;
    const { mode, hasMore, next, size } = page;
    return {
      kind: 'page_arrived',
      asked: effect.position,
      page: { mode, hasMore, next, items: size },
    };
  }

  async #storeListingPage(phase: Phase): Promise<TickEvent> {
    const page = await this.#rowCount.added(
      this.#pageAtHand().parse(),
      phase,
      this.#source,
      this.#parts,
      this.signal,
    );
    const { progress, applied } = await this.#parts.mirror.addListingPage(this.#lease, page);
    this.leaseIsLater = false;
    this.#count(applied);
    this.#shown = shownBy(this.#shown, page.items);
    // With SQLite, a page blocks the event loop for as long as a hundred deliveries take. Those that arrived meanwhile are
    // read in this turn, and stored and answered in the next one, which the reader waits for.
    await setImmediate();
    return { kind: 'listing_page_stored', listing: progress };
  }

  async #applyPage({ reached }: EffectOf<'apply_page'>, end: TickEnd | null): Promise<TickEvent> {
    const { mirror } = this.#parts;
    const { hasMore, publishedThrough } = this.#pageAtHand();
    let written: TickReport | undefined;
    const ending: Ending | undefined =
      end === null ? undefined : (applied) => (written = this.#report(end, total(this.#applied, applied)));
    this.#count(await mirror.applyPage(this.#lease, this.#pageAtHand().parse(), reached, ending));
    this.leaseIsLater = false;
    this.#written = written;
    this.#publishedThrough = publishedThrough;
    return { kind: 'delta_page_applied', reached, hasMore };
  }

  async #publish(effect: EffectOf<'publish'>, phase: Phase): Promise<TickEvent> {
    if (this.signal.aborted) return this.#cutShort();
    const { mirror, options, logger } = this.#parts;
    this.#mode = modeOf(phase);
    const policy = { ...options.brake, accepted: effect.accepted };
    const { applied, brake } = await mirror.publishListing(this.#lease, effect.final, policy, this.signal);
    this.#count(applied);
    if (brake !== null)
      logger.error(
        { count: brake.wouldRemove, rows: brake.held, hint: 'rosterd sync --accept-deletions' },
        'rows missing from the new listing await deletion until an operator accepts it',
      );
    return { kind: 'published' };
  }

  async #deleteAwaiting({ rows }: EffectOf<'delete_awaiting'>, phase: Phase): Promise<TickEvent> {
    if (this.signal.aborted) return this.#cutShort();
    const { mirror, logger } = this.#parts;
    if (this.#mode === 'none') this.#mode = modeOf(phase);
    const applied = await mirror.deleteAwaiting(this.#lease, rows);
    if (applied === null)
      logger.warn(
        { count: rows ?? 0 },
        'the number of rows awaiting deletion is not the confirmed one: nothing was deleted',
      );
    this.#count(applied ?? nothingApplied);
    this.#awaitingDeleted = applied !== null;
    return { kind: 'awaiting_deleted' };
  }

  #cutShort(): TickEvent {
    if (this.lost === undefined) return { kind: 'stop_asked' };
    return { kind: 'failed', failure: failureOf(this.lost, planOf(this.#ask, this.#parts)) };
  }

  #failed(effect: Work, error: unknown): TickEvent {
    if (isFault(error, 'cursor_expired') && effect.kind === 'fetch')
      return { kind: 'gone', asked: effect.position };
    // A lost lease aborts requests just as a stop does; report the actual cause.
    const cause = isFault(error, 'stopped') && this.lost !== undefined ? this.lost : error;
    if (!isFault(cause)) this.#parts.logger.error({ error: cause }, 'a tick failed with an unexpected error');
    return { kind: 'failed', failure: failureOf(cause, planOf(this.#ask, this.#parts)) };
  }

  async #finish(end: TickEnd, halt: Halt | null | 'as it is', phase: Phase): Promise<TickResult> {
    this.#reader.drop();
    const { mirror } = this.#parts;
    const grant =
      this.#ask.checkGrant === true && end.outcome === 'done' && phase.kind === 'following'
        ? await this.#followGrant()
        : 'not_asked';
    const report = this.#written ?? this.#report(end, this.#applied);
    const publishedThrough = end.outcome === 'done' ? this.#publishedThrough : null;
    // Another process took the source. As when it cannot be opened, this result is the only record.
    if (
      (this.leaseIsLater && report.code === 'lease_lost') ||
      (halt === 'as it is' && (report.code === 'lease_lost' || (await this.#isTaken())))
    )
      return { report, phase: null, publishedThrough: null, grant, recorded: false };
    if (this.endWritten || halt === 'as it is')
      return { report, phase, publishedThrough, grant, recorded: true };
    try {
      await mirror.recordTick(this.#lease, report, halt);
    } catch (error) {
      const result = { report, phase, publishedThrough, grant, recorded: false };
      return unrecordedEnd(error, result, planOf(this.#ask, this.#parts), this.#parts.logger);
    }
    return { report, phase, publishedThrough, grant, recorded: true };
  }

  /**
   * Whether another process has the source by now: a source that stays as it is has no commit that would fail. A tick that
   * requested nothing has only just opened it.
   */
  async #isTaken(): Promise<boolean> {
    if (this.#mode === 'none') return false;
    try {
      await this.#parts.mirror.renew(this.#lease);
      return false;
    } catch (error) {
      return isFault(error, 'lease_lost');
    }
  }

  #report(end: TickEnd, applied: Applied): TickReport {
    return {
      trigger: this.#ask.trigger,
      mode: this.#mode,
      startedAt: instantFromMillis(this.#start.at),
      tookMs: Math.round(this.#parts.clock.monotonic() - this.#start.monotonic),
      pages: this.#pages,
      applied,
      ...end,
    };
  }

  #followGrant(): Promise<GrantAnswer> {
    const { mirror, logger } = this.#parts;
    const lease = this.#lease;
    // As known when the tick began.
    const identityIncluded = this.#opened.identityIncluded === true;
    if (this.#begun && this.#shown === true && this.#source.mayReadIdentity !== undefined)
      return Promise.resolve('followed');
    return followGrant(this.#source, { mirror, logger, lease, identityIncluded }, this.signal);
  }

  /** Only a tick started by a webhook may draw on the reserve, and only for deltas: a listing would drain it. */
  #feed(phase: Phase): Feed {
    return feedOf(this.#source, phase.kind === 'following' ? this.#ask.trigger : 'timer');
  }

  #pageAtHand(): ReceivedPage {
    if (this.#page === undefined) throw new Error('a page is committed after it was fetched');
    return this.#page;
  }

  #count(more: Applied): void {
    this.#applied = total(this.#applied, more);
  }
}

export const feedOf = (source: SyncSource, trigger: Trigger): Feed =>
  source.feed(trigger === 'webhook' ? 'webhook' : 'routine');

type Work = Exclude<Effect, { kind: 'finish' | 'remain_halted' | 'prefetch' }>;
type EffectOf<Kind extends Work['kind']> = Extract<Work, { readonly kind: Kind }>;

function mainEffect(decision: Decision): Exclude<Effect, { kind: 'prefetch' }> {
  for (const effect of decision.effects) if (effect.kind !== 'prefetch') return effect;
  throw new Error('every decision names something to do besides reading ahead');
}

function openingEvent(ask: TickAsk, { filtersChanged }: Opened, identity: SourceIdentity): TickEvent {
  if (ask.resync === true) return { kind: 'resync_asked' };
  if (filtersChanged) return { kind: identity.isFollowed === true ? 'resync_asked' : 'filters_changed' };
  if (ask.acceptDeletions === true) return { kind: 'deletions_accepted' };
  if (ask.acceptAwaiting !== undefined) return { kind: 'deletions_accepted', rows: ask.acceptAwaiting };
  return { kind: 'tick_asked', trigger: ask.trigger };
}

export const planOf = (ask: TickAsk, { options, clock, random }: TickParts) => ({
  backoff: options.backoff,
  failures: ask.failures ?? 0,
  clock,
  random,
});
