import { type Fault, isFault, isStatedWait } from '../domain/fault.js';
import type { InstallationId, SourceName } from '../domain/ids.js';
import { millisOf } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import type { Random } from '../runtime/random.js';
import type { FollowedBook } from './followed-book.js';
import { mintWaitMillis } from './mint-spacing.js';
import { obtainTokens } from './obtain-tokens.js';
import { gone, isOpen, planListing, type Rule, tokenRefused } from './plan-following.js';
import type {
  FollowedSource,
  FollowedSourceChange,
  InstallationList,
  InstallationsApi,
  ListedInstallation,
  Realm,
  TokenVault,
} from './ports.js';
import { tokenKey } from './token-key.js';
import { tokenUsers } from './token-users.js';

/** A rule with the account that manages its application. */
export interface FollowedRule extends Rule {
  readonly scopes: readonly string[];
  readonly api: InstallationsApi;
}

export interface RuleFollowerParts {
  readonly rule: FollowedRule;
  /** The names of all rules of the configuration. */
  readonly ruleNames: ReadonlySet<string>;
  readonly book: FollowedBook;
  readonly vault: TokenVault;
  readonly takenNames: () => Promise<ReadonlySet<string>>;
  /** The platform's time; null while it is not known. */
  readonly platformNow: () => number | null;
  readonly onAccepted: (source: SourceName) => void;
  /** Called after each turn, unless it waits after a failure: with null, or with the error. */
  readonly onAsked: (rule: string, error: unknown) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Reasons for requests of a turn, beside those that are due. */
export interface Reasons {
  /** Installations that events named. */
  readonly events: readonly InstallationId[];
  /** Sources whose token the platform refused. */
  readonly refused: readonly SourceName[];
  /** Whether another reason has arrived since. It takes precedence over a long queue of tokens. */
  readonly isInterrupted: () => boolean;
}

/** All installations are listed this often: events may be lost. */
const listingMillis = 3_600_000;
const retryMillisMin = 60_000;
const retryMillisMax = 3_600_000;
const jitterShare = 0.05;
/** How many missing installations are confirmed after one listing. */
const confirmedMax = 100;

/** Follows the installations of one rule. */
export class RuleFollower {
  readonly #parts: RuleFollowerParts;
  /** Null before the platform accepted the token of the account: another text has another realm, or none. */
  #realm: Realm | null = null;
  /** On the monotonic clock: when everything is listed again, and the earliest time of the next request. */
  #listAt = Number.NEGATIVE_INFINITY;
  #notBefore = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #confirmFrom = 0;
  #hasLooked = false;
  /** On the monotonic clock: when an unreadable entry of the vault is read again. */
  readonly #lookAt = new Map<SourceName, number>();

  constructor(parts: RuleFollowerParts) {
    this.#parts = parts;
  }

  get rule(): FollowedRule {
    return this.#parts.rule;
  }

  get realm(): Realm | null {
    return this.#realm;
  }

  /** Makes the next turn list everything. */
  listSoon(): void {
    this.#listAt = Number.NEGATIVE_INFINITY;
  }

  /** Ends waits after failures, because their cause may be gone. */
  retry(): void {
    this.#lookAt.clear();
    if (this.#failures === 0) return;
    this.#notBefore = Number.NEGATIVE_INFINITY;
    this.listSoon();
  }

  /**
   * Sends the requests that are due. A failure postpones the others, and the next listing covers the events. Never throws
   * a fault. Returns false after a failure, which may have left a token of a source that is no longer synced.
   */
  async turn(reasons: Reasons, signal: AbortSignal): Promise<boolean> {
    const { rule, clock, onAsked, logger } = this.#parts;
    // The listing that follows the failure covers the events.
    if (clock.monotonic() < this.#notBefore) return true;
    try {
      const realm = await rule.api.realm();
      const read = await this.#read(realm, reasons.events, signal);
      if (read) this.#realm = realm;
      await this.#lookAtRefused(realm, reasons.refused, signal);
      // The newest first: a founder waits for it, and thousands of older ones may wait for the quota.
      const waiting = this.#rows(realm)
        .filter(({ state, source }) => state === 'waiting' && this.#untilLook(source) === 0)
        .sort((one, other) => millisOf(other.firstSeenAt) - millisOf(one.firstSeenAt));
      const { isInterrupted } = reasons;
      const onUnreadable = (source: SourceName) =>
        void this.#lookAt.set(source, clock.monotonic() + retryMillisMin);
      const looksAtAll = !this.#hasLooked;
      const wish = { waiting, onUnreadable, scopes: rule.scopes, looksAtAll, isInterrupted };
      await obtainTokens(this.#parts, rule.api, wish, signal);
      this.#hasLooked = true;
      this.#failures = 0;
      onAsked(rule.rule, null);
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      this.#postpone(error);
      onAsked(rule.rule, error);
      logger.warn(
        { rule: rule.rule, error },
        'the installations could not be followed and are retried later',
      );
      return false;
    }
  }

  /** Returns how long until something is due. */
  untilDue(): number {
    const { clock, book, rule } = this.#parts;
    const now = clock.monotonic();
    const mints = book
      .rows()
      .filter(
        ({ state, rule: name, realm }) => state === 'waiting' && name === rule.rule && realm === this.#realm,
      )
      .map(({ source, mints, lastMintAt }) =>
        Math.max(mintWaitMillis(mints, lastMintAt, clock.now()), this.#untilLook(source)),
      );
    const due = mints.reduce((least, one) => Math.min(least, one), this.#listAt - now);
    return Math.max(0, due, this.#notBefore - now);
  }

  #untilLook(source: SourceName): number {
    return Math.max(0, (this.#lookAt.get(source) ?? 0) - this.#parts.clock.monotonic());
  }

  #rows(realm: Realm): readonly FollowedSource[] {
    const { book, rule } = this.#parts;
    return book.rows().filter((row) => row.rule === rule.rule && row.realm === realm);
  }

  #postpone(error: unknown): void {
    const { clock } = this.#parts;
    this.#failures += 1;
    const growing = Math.min(retryMillisMax, retryMillisMin * 2 ** Math.min(this.#failures - 1, 10));
    const retryAt = isFault(error) && isStatedWait(error) ? error.about.retryAt : undefined;
    const stated = retryAt === undefined ? null : Math.min(retryMillisMax, millisOf(retryAt) - clock.now());
    this.#notBefore = clock.monotonic() + (stated ?? growing);
    this.listSoon();
  }

  /** Lists everything when the time has come, otherwise the installations of events. Returns whether it asked. */
  async #read(realm: Realm, events: readonly InstallationId[], signal: AbortSignal): Promise<boolean> {
    const { rule, clock, random } = this.#parts;
    if (clock.monotonic() >= this.#listAt) {
      const list = await rule.api.list(signal);
      await this.#store(realm, list, signal);
      this.#listAt = clock.monotonic() + listingMillis * (1 + jitterShare * (2 * random.fraction() - 1));
      return true;
    }
    const unknown = this.#notJustFound(realm, events);
    if (unknown.length === 0) return false;
    const seen: ListedInstallation[] = [];
    for (const id of unknown) {
      const one = await rule.api.get(id, signal);
      if (one !== null) seen.push(one);
    }
    await this.#store(realm, { installations: seen, isComplete: false }, signal);
    return true;
  }

  /**
   * Leaves out installations that a listing found before the event and that have no token yet: the request for the token
   * shows as much as a request for the installation.
   */
  #notJustFound(realm: Realm, events: readonly InstallationId[]): readonly InstallationId[] {
    if (events.length === 0) return events;
    const found = new Set(
      this.#rows(realm)
        .filter(({ state, mints, connectedAt }) => state === 'waiting' && mints === 0 && connectedAt === null)
        .map(({ installation }) => installation),
    );
    return events.filter((id) => !found.has(id));
  }

  /** The time of an end that was noticed now: by the platform, as a local clock that is behind would erase rows too early. */
  #endNow(): number {
    return this.#parts.platformNow() ?? this.#parts.clock.now();
  }

  /** Stores the changes that follow from an answer of the platform. */
  async #store(realm: Realm, list: InstallationList, signal: AbortSignal): Promise<void> {
    const { rule, ruleNames, book, takenNames } = this.#parts;
    const targets = new Set(this.#rows(realm).map(({ target }) => target));
    const isNew = list.installations.some(({ isActive, target }) => isActive && !targets.has(target));
    const taken = isNew ? await takenNames() : new Set<string>();
    const isTaken = (name: SourceName) => taken.has(name);
    const known = { realm, rows: book.rows(), isTaken, ruleNames };
    const { changes, missing } = planListing(rule, list, known, this.#endNow());
    await this.#save(changes);
    await this.#confirmEach(realm, missing, signal);
  }

  /**
   * Confirms at most `confirmedMax` missing installations and continues with the next ones at the next listing: each costs
   * two requests, and an incomplete listing may lack many.
   */
  async #confirmEach(realm: Realm, missing: readonly FollowedSource[], signal: AbortSignal): Promise<void> {
    const { logger } = this.#parts;
    const from = this.#confirmFrom % Math.max(1, missing.length);
    this.#confirmFrom = from;
    for (const row of [...missing.slice(from), ...missing.slice(0, from)].slice(0, confirmedMax)) {
      try {
        await this.#confirm(realm, row, signal);
      } catch (error) {
        // A used-up quota refuses the others, too.
        if (signal.aborted || !isFault(error) || error.code === 'rate_limited') throw error;
        logger.warn({ source: row.source, error }, 'a missing installation could not be looked at');
      }
      this.#confirmFrom += 1;
    }
  }

  async #save(changes: readonly FollowedSourceChange[]): Promise<void> {
    const { book, vault, logger } = this.#parts;
    const { isReady, failure } = await this.#removeFormerTokens(changes);
    const saved = await book.save(changes.filter(isReady));
    const remaining = tokenUsers(book.rows());
    for (const { before, next } of saved) {
      const { source, installation, reason } = next;
      if (before !== null && !isOpen(next) && !remaining.has(installation))
        await vault.remove(tokenKey(installation));
      if (before === null) logger.info({ source, installation }, 'an installation was found');
      else if (isOpen(next)) logger.info({ source, installation }, 'an installation is active again');
      else logger.info({ source, installation, reason: reason ?? 'unknown' }, 'a source is no longer synced');
    }
    if (failure !== null) throw failure;
  }

  /**
   * Removes the tokens of installations that are replaced, unless another source uses them. A row is the only record of
   * its previous installation, so this precedes the change of the row. Returns which changes may be made, and why others
   * have to wait.
   */
  async #removeFormerTokens(changes: readonly FollowedSourceChange[]) {
    const { book, vault } = this.#parts;
    const users = tokenUsers(book.rows());
    const waiting = new Set<FollowedSourceChange>();
    let failure: Fault | null = null;
    for (const change of changes) {
      const { before, next } = change;
      if (before === null || before.installation === next.installation) continue;
      const others = (users.get(before.installation) ?? 0) - (isOpen(before) ? 1 : 0);
      if (others > 0) continue;
      try {
        await vault.remove(tokenKey(before.installation));
      } catch (error) {
        if (!isFault(error)) throw error;
        waiting.add(change);
        failure = error;
      }
    }
    return { isReady: (change: FollowedSourceChange) => !waiting.has(change), failure };
  }

  /**
   * An installation that a complete listing lacks has ended, or the account lost its right to see it. The token of the
   * installation decides: the platform refuses it after a revocation.
   */
  async #confirm(realm: Realm, row: FollowedSource, signal: AbortSignal): Promise<void> {
    const { rule, vault, logger } = this.#parts;
    const one = await rule.api.get(row.installation, signal);
    if (one !== null) {
      await this.#store(realm, { installations: [one], isComplete: false }, signal);
      return;
    }
    const token = await vault.read(tokenKey(row.installation));
    // Without a token ever, nothing is stored, and nothing is lost if the account sees the installation again.
    const isOver = token === null ? row.connectedAt === null : !(await rule.api.accepts(token, signal));
    if (isOver) await this.#save([{ before: row, next: gone(rule, row, this.#endNow()) }]);
    else
      logger.warn(
        { source: row.source, installation: row.installation },
        'the account does not see an installation that may still be active, so its source stays',
      );
  }

  /** Finds out why the platform refuses the token of a source: the installation ended, or only the token did. */
  async #lookAtRefused(realm: Realm, refused: readonly SourceName[], signal: AbortSignal): Promise<void> {
    const { rule, book, vault, logger, onAccepted } = this.#parts;
    const names = new Set(refused);
    for (const row of this.#rows(realm)) {
      if (!names.has(row.source) || row.state !== 'connected') continue;
      const token = await this.#readToken(row);
      // A token that cannot be read is not lost; one that the platform accepts is fine.
      if (token === undefined) continue;
      if (token !== null && (await rule.api.accepts(token, signal))) {
        onAccepted(row.source);
        continue;
      }
      await this.#confirm(realm, row, signal);
      const now = book.find(row.source);
      if (now?.state !== 'connected' || now.installation !== row.installation) continue;
      const [stored] = await book.save([{ before: now, next: tokenRefused(now) }]);
      // Another process did so before, and may have stored another token.
      if (stored === undefined) continue;
      await vault.remove(tokenKey(row.installation));
      logger.warn({ source: row.source }, 'the platform refuses the token of an active installation');
    }
  }

  /** Returns undefined for an entry that cannot be read: an operator can make it readable, and the others go on meanwhile. */
  async #readToken({ source, installation }: FollowedSource): Promise<string | null | undefined> {
    const { vault, logger } = this.#parts;
    try {
      return await vault.read(tokenKey(installation));
    } catch (error) {
      if (!isFault(error)) throw error;
      logger.warn({ source, error }, 'a token in the vault cannot be read');
      return undefined;
    }
  }
}
