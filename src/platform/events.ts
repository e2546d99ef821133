import type { EventName } from '../wire/events.js';
import type { Realm } from './state/secrets.js';

/** Something happened that subscribed installations may be told. `data` is the payload without identity the receiver may not see. */
export interface PlatformEvent {
  /** The id the event is told under, where it is also kept elsewhere; otherwise one is made. */
  readonly id?: string;
  readonly name: EventName;
  readonly realm: Realm;
  readonly at: number;
  readonly companyNo: number | null;
  readonly syndicateNo: number | null;
  /** Set when the event concerns one installation only (`installation.*`). */
  readonly installationNo: number | null;
  /** Makes the payload for one installation: what it may see depends on its scopes. */
  dataFor(installation: {
    readonly scopes: ReadonlySet<string>;
    readonly kind: 'company' | 'syndicate' | 'user';
  }): unknown;
}

type Listener = (event: PlatformEvent) => void;

/**
 * Emitting happens inside the transaction of what caused it, so that an event and its cause commit together;
 * a listener therefore writes rows and sends nothing.
 */
export class PlatformEvents {
  readonly #listeners: Listener[] = [];
  readonly #firstUses: ((tokenNo: number, now: number) => void)[] = [];
  readonly #disconnects: ((userNo: number, applicationNo: number, now: number) => void)[] = [];

  subscribe(listener: Listener): void {
    this.#listeners.push(listener);
  }

  emit(event: PlatformEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  /** A rotated refresh token dies when the access token issued with its successor is first used. */
  onFirstUse(listener: (tokenNo: number, now: number) => void): void {
    this.#firstUses.push(listener);
  }

  /** What an application has left open for a person ends when the person disconnects it. */
  onDisconnect(listener: (userNo: number, applicationNo: number, now: number) => void): void {
    this.#disconnects.push(listener);
  }

  disconnected(userNo: number, applicationNo: number, now: number): void {
    for (const listener of this.#disconnects) listener(userNo, applicationNo, now);
  }

  tokenUsed(tokenNo: number, now: number): void {
    for (const listener of this.#firstUses) listener(tokenNo, now);
  }
}
