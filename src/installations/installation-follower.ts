import { isFault } from '../domain/fault.js';
import type { InstallationId, SourceName } from '../domain/ids.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import { FollowedBook } from './followed-book.js';
import { erased, isErasureDue, isOpen, planRules } from './plan-following.js';
import type { FollowedSource, FollowedSources, SourceEraser, TokenVault } from './ports.js';
import { type FollowedRule, RuleFollower } from './rule-follower.js';
import { tokenKey } from './token-key.js';
import { tokenUsers } from './token-users.js';

export interface FollowingParts {
  readonly rules: readonly FollowedRule[];
  readonly store: FollowedSources;
  readonly vault: TokenVault;
  readonly eraser: SourceEraser;
  /** Makes the daemon sync exactly these followed sources. Called at the start and after each change. */
  readonly onConnected: (connected: readonly FollowedSource[]) => Promise<void>;
  /** Names that listed sources or rows of the database use. */
  readonly takenNames: () => Promise<ReadonlySet<string>>;
  /** In a fleet, the leader alone asks the platform and writes. */
  readonly leads: () => boolean;
  /** Whether another daemon is known to lead. While heartbeats fail, neither may be known. */
  readonly isLed: () => boolean;
  /** Tells the leader of installations to ask for. */
  readonly passOn: (installations: readonly InstallationId[]) => void;
  /**
   * The time for erasures: the earlier of the platform's and the local one. Null while a wrong local clock cannot be
   * excluded: nothing is erased then, except what an operator forgot.
   */
  readonly trustedNow: () => number | null;
  /** The platform's time, which dates the end of an installation; null while it is not known. */
  readonly platformNow: () => number | null;
  /** The platform accepts the token of this source after all. */
  readonly onAccepted: (source: SourceName) => void;
  /** How long other daemons may need to notice that a source is no longer synced. */
  readonly noticeMillis: number;
  /**
   * Called after each turn of a rule, unless it waits after a failure: with null, or with the error.
   * Called with null, too, while another daemon leads, which reports its own.
   */
  readonly onAsked: (rule: string, error: unknown) => void;
  /** Called after each turn: with null, or with the error that kept the stored sources from being read or written. */
  readonly onTurn: (error: unknown) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

const idleMillis = 60_000;
const retryMillis = 10_000;
/** More events than this are covered by a listing, which is one request. */
const eventsMax = 50;

/** One daemon's view of the followed sources; each turn does what is due. */
export class InstallationFollower {
  readonly events = new Set<InstallationId>();
  readonly refused = new Set<SourceName>();
  /** Whether the stored sources were read and synced. */
  isKnown = false;
  /** Whether it was not known at the last turn who leads, so that reasons to ask were kept. */
  #isUnsure = false;
  readonly #parts: FollowingParts;
  readonly #book: FollowedBook;
  readonly #rules: readonly RuleFollower[];
  #hasSwept = false;
  /** Whether the last turn failed. */
  #hasFailed = false;
  /** On the monotonic clock: when tokens that could not be removed are tried again. */
  #sweepFrom = Number.NEGATIVE_INFINITY;
  /** On the monotonic clock: since when it is seen here that the time of a source is up. */
  #dueSince: ReadonlyMap<SourceName, number> = new Map();
  /** On the monotonic clock: when a failed erasure is tried again. */
  readonly #retryAt = new Map<SourceName, number>();

  constructor(parts: FollowingParts) {
    this.#parts = parts;
    this.#book = new FollowedBook(parts.store, parts.onConnected);
    const ruleNames = new Set(parts.rules.map(({ rule }) => rule));
    this.#rules = parts.rules.map(
      (rule) => new RuleFollower({ ...parts, rule, ruleNames, book: this.#book }),
    );
  }

  /** Ends waits after failures, because their cause may be gone. */
  retry(): void {
    for (const rule of this.#rules) rule.retry();
  }

  /** Returns how long to wait for the next turn. Never throws. */
  async turn(signal: AbortSignal): Promise<number> {
    const { logger, onTurn } = this.#parts;
    try {
      const wait = await this.#takeTurn(signal);
      this.#hasFailed = false;
      onTurn(null);
      return wait;
    } catch (error) {
      if (signal.aborted) return retryMillis;
      // Another turn follows within seconds, and fails for the same reason: the first warning is enough.
      logger[this.#hasFailed ? 'debug' : 'warn'](
        { error },
        'the followed sources could not be read or stored',
      );
      this.#hasFailed = true;
      onTurn(error);
      return retryMillis;
    }
  }

  async #takeTurn(signal: AbortSignal): Promise<number> {
    const { leads, isLed } = this.#parts;
    if (await this.#book.refresh()) this.#hasSwept = false;
    // The first turn syncs what is stored before the platform is asked anything.
    if (!this.isKnown) {
      this.isKnown = true;
      return 0;
    }
    const wasUnsure = this.#isUnsure;
    this.#isUnsure = !leads() && !isLed();
    if (leads()) return await this.#lead(signal);
    if (isLed()) this.#leave(wasUnsure);
    return idleMillis;
  }

  /** Another daemon leads. What arrived before that was known may have reached none. */
  #leave(wasUnsure: boolean): void {
    const { rules, onAsked, passOn } = this.#parts;
    const refused = [...this.refused].flatMap((source) => this.#book.find(source)?.installation ?? []);
    const installations = [...this.events, ...refused];
    this.events.clear();
    this.refused.clear();
    this.#dueSince = new Map();
    if (wasUnsure && installations.length > 0) passOn(installations);
    for (const { rule } of rules) onAsked(rule, null);
  }

  async #lead(signal: AbortSignal): Promise<number> {
    const reasons = this.#takeReasons();
    for (const rule of this.#rules) {
      if (signal.aborted) return 0;
      if (!(await rule.turn(reasons, signal))) this.#hasSwept = false;
    }
    // The realm of a rule is known only after its first turn.
    await this.#applyRules();
    await this.#removeTokens();
    const erasing = await this.#eraseNext();
    const waits = this.#rules.map((rule) => rule.untilDue());
    return Math.min(idleMillis, erasing, ...waits);
  }

  #takeReasons() {
    const events = [...this.events];
    const refused = [...this.refused];
    this.events.clear();
    this.refused.clear();
    // A listing that is due takes the place of the events.
    if (events.length > eventsMax) for (const rule of this.#rules) rule.listSoon();
    return {
      events,
      refused,
      isInterrupted: () => this.events.size + this.refused.size > 0,
    };
  }

  /** Ends sources whose rule is no longer configured, and applies other times of erasure. */
  async #applyRules(): Promise<void> {
    const { clock, logger } = this.#parts;
    const rules = new Map(this.#rules.map((one) => [one.rule.rule, one]));
    const changes = await this.#book.save(planRules(rules, this.#book.rows(), clock.now()));
    const count = changes.filter(({ before, next }) => before?.reason !== next.reason).length;
    if (count === 0) return;
    this.#hasSwept = false;
    logger.warn({ count }, 'sources without a follow rule are no longer synced; their rows stay');
  }

  /**
   * Removes the tokens of sources that are not synced: after a start, after another process stored changes, and after a
   * failure. What cannot be removed is tried again, and holds up no erasure.
   */
  async #removeTokens(): Promise<void> {
    const { clock, logger, vault } = this.#parts;
    if (this.#hasSwept || clock.monotonic() < this.#sweepFrom) return;
    let isDone = true;
    const failed = (error: unknown) => {
      isDone = false;
      logger.warn({ error }, 'tokens of sources that are not synced could not be removed');
      return [];
    };
    const kept = new Set(await vault.keys(tokenKey('')).catch(failed));
    const rows = this.#book.rows();
    const users = tokenUsers(rows);
    for (const row of rows)
      if (!isOpen(row) && !users.has(row.installation) && kept.has(tokenKey(row.installation)))
        await vault.remove(tokenKey(row.installation)).catch(failed);
    this.#hasSwept = isDone;
    if (!isDone) this.#sweepFrom = clock.monotonic() + idleMillis;
  }

  /** Erases the next source whose time is up, or whose erasure was interrupted. Returns how long until another is due. */
  async #eraseNext(): Promise<number> {
    const { clock, eraser, leads, noticeMillis, trustedNow } = this.#parts;
    const now = trustedNow();
    // Another process may have stored a change, or lead by now, since this turn began.
    await this.#book.refresh();
    if (!leads()) return idleMillis;
    const seenAt = clock.monotonic();
    const isRested = (source: SourceName) => (this.#retryAt.get(source) ?? 0) <= seenAt;
    const begun = (await eraser.unfinished()).find(isRested);
    if (begun !== undefined) return await this.#erase(begun);
    const due = this.#book.rows().filter((row) => isErasureDue(row, now) && isRested(row.source));
    // An installation may have ended long before that was noticed, and stored, here.
    const since = new Map(due.map(({ source }) => [source, this.#dueSince.get(source) ?? seenAt]));
    this.#dueSince = since;
    const row = due.find(({ source }) => seenAt - (since.get(source) ?? seenAt) >= noticeMillis);
    if (row !== undefined) return await this.#erase(row.source);
    return due.length > 0 ? noticeMillis : this.#retryAt.size > 0 ? retryMillis : idleMillis;
  }

  async #erase(source: SourceName): Promise<number> {
    const { clock, eraser, logger } = this.#parts;
    try {
      const { rows } = await eraser.erase(source);
      this.#retryAt.delete(source);
      await this.#book.refresh();
      const row = this.#book.find(source);
      if (row?.state === 'disconnected')
        await this.#book.save([{ before: row, next: erased(row, rows, clock.now()) }]);
      logger.info({ source, count: rows }, 'a source was erased');
      return 0;
    } catch (error) {
      // The others go on meanwhile.
      this.#retryAt.set(source, clock.monotonic() + retryMillis);
      const isBusy = isFault(error, 'lease_lost') || isFault(error, 'database_busy');
      logger[isBusy ? 'debug' : 'warn']({ source, error }, 'a source could not be erased yet');
      return 0;
    }
  }
}
