import type { SourceName } from '../domain/ids.js';
import type { Lane } from '../inbox/ports.js';
import type { Fleet } from './fleet.js';
import type { Message } from './ports.js';

/**
 * The fleet as the parts of a daemon see it, also before it joined one and when there is none. A daemon alone works
 * every source and does everything that runs once per fleet.
 */
export interface Membership {
  worksHere(source: SourceName): boolean;
  readonly leads: boolean;
  /** Whether another daemon is known to lead. It is not known before the first heartbeat. */
  readonly isLed: boolean;
  /** Number of living daemons, including this one. */
  readonly living: number;
  /** Number of sources worked here; null without a fleet, where it is all of them. */
  readonly held: number | null;
  /** When the leader last announced a recent backup, by this host's clock; null if it never did. */
  readonly backedUpAt: number | null;
  tell(message: Message): void;
  /**
   * Announces stored deliveries of a lane. Lanes announced while a message is being sent share the next one, so a
   * burst is a few messages.
   */
  announceAccepted(lane: Lane): void;
}

export const alone: Membership = {
  worksHere: () => true,
  leads: true,
  isLed: false,
  living: 1,
  held: null,
  backedUpAt: null,
  tell: () => {},
  announceAccepted: () => {},
};

export class FleetMembership implements Membership {
  #fleet: Fleet | null = null;
  #sending = false;
  #backedUpAt: number | null = null;
  readonly #lanes = new Set<Lane>();

  take(fleet: Fleet): void {
    this.#fleet = fleet;
    // Lanes that were announced before.
    void this.#sendLanes();
  }

  worksHere(source: SourceName): boolean {
    return this.#fleet?.holds(source) === true;
  }

  get leads(): boolean {
    return this.#fleet?.leads === true;
  }

  get isLed(): boolean {
    return this.#fleet?.isLed === true;
  }

  get living(): number {
    return this.#fleet?.living ?? 1;
  }

  /** False before the first heartbeat, when it is not known. */
  get alone(): boolean {
    return this.#fleet?.alone === true;
  }

  get held(): number {
    return this.#fleet?.held ?? 0;
  }

  get backedUpAt(): number | null {
    return this.#backedUpAt;
  }

  /** The leader announced a recent backup at this time. */
  heardBackup(now: number): void {
    this.#backedUpAt = now;
  }

  tell(message: Message): void {
    void this.#fleet?.tell(message);
  }

  announceAccepted(lane: Lane): void {
    this.#lanes.add(lane);
    if (!this.#sending) void this.#sendLanes();
  }

  /** Each turn sends the lanes collected since the last one. Ends when there are none. */
  async #sendLanes(): Promise<void> {
    this.#sending = true;
    while (this.#lanes.size > 0 && this.#fleet !== null) {
      const lanes = [...this.#lanes];
      this.#lanes.clear();
      await this.#fleet.tell({ kind: 'accepted', lanes });
    }
    this.#sending = false;
  }
}
