import type { EventName } from '../wire/events.js';
import type { Realm } from './state/secrets.js';

/** An event for subscribed installations. `dataFor` omits identity the receiving installation may not see. */
export interface PlatformEvent {
  /** Id of the event if it is also stored elsewhere; generated otherwise. */
  readonly id?: string;
  readonly name: EventName;
  readonly realm: Realm;
  readonly at: number;
  readonly companyNo: number | null;
  readonly syndicateNo: number | null;
  /** Set for events about a single installation (`installation.*`). */
  readonly installationNo: number | null;
  /** Returns the payload for one installation, limited by its scopes. */
  dataFor(installation: {
    readonly scopes: ReadonlySet<string>;
    readonly kind: 'company' | 'syndicate' | 'user';
  }): unknown;
}

/** One attempt to deliver a webhook, without its body and without the path of the URL, which may hold a secret. */
export interface AttemptMade {
  readonly delivery: string;
  readonly event: EventName;
  /** Host and port of the endpoint. */
  readonly host: string;
  /** Null when no response arrived; then `error` says why. */
  readonly status: number | null;
  readonly error: string | null;
}

type Listener = (event: PlatformEvent) => void;

/**
 * Events are emitted inside the transaction of their cause, so both commit together. Listeners must therefore only
 * write rows and must not send anything.
 */
export class PlatformEvents {
  readonly #listeners: Listener[] = [];
  readonly #firstUses: ((tokenNo: number, now: number) => void)[] = [];
  readonly #attempts: ((attempt: AttemptMade) => void)[] = [];

  subscribe(listener: Listener): void {
    this.#listeners.push(listener);
  }

  emit(event: PlatformEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** Called on the first use of an access token, which invalidates the refresh token it was rotated from. */
  onFirstUse(listener: (tokenNo: number, now: number) => void): void {
    this.#firstUses.push(listener);
  }

  /** Called after each recorded attempt to deliver a webhook. */
  onAttempt(listener: (attempt: AttemptMade) => void): void {
    this.#attempts.push(listener);
  }

  attempted(attempt: AttemptMade): void {
    for (const listener of this.#attempts) listener(attempt);
  }

  tokenUsed(tokenNo: number, now: number): void {
    for (const listener of this.#firstUses) listener(tokenNo, now);
  }
}
