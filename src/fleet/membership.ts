import type { SourceName } from '../domain/ids.js';
import type { Fleet } from './fleet.js';
import type { Message } from './ports.js';

/**
 * What the parts of a daemon ask of the fleet, also before it has joined one, or where there is none: alone it works
 * every source and does everything that is done once.
 */
export interface Seat {
  worksHere(source: SourceName): boolean;
  readonly leads: boolean;
  /** Daemons that live, this one among them. */
  readonly living: number;
  /** How many sources are worked here; null where it is all of them by nature. */
  readonly held: number | null;
  tell(message: Message): void;
  /** Lanes told of while a message was on its way go together in the next one: a burst is a few messages. */
  tellAccepted(lane: string): void;
}

export const alone: Seat = {
  worksHere: () => true,
  leads: true,
  living: 1,
  held: null,
  tell: () => {},
  tellAccepted: () => {},
};

export class FleetSeat implements Seat {
  #fleet: Fleet | null = null;
  #telling = false;
  readonly #lanes = new Set<string>();

  take(fleet: Fleet): void {
    this.#fleet = fleet;
  }

  worksHere(source: SourceName): boolean {
    return this.#fleet?.holds(source) === true;
  }

  get leads(): boolean {
    return this.#fleet?.leads === true;
  }

  get living(): number {
    return this.#fleet?.living ?? 1;
  }

  /** Before the fleet was asked, nobody knows. */
  get alone(): boolean {
    return this.#fleet?.alone === true;
  }

  get held(): number {
    return this.#fleet?.held ?? 0;
  }

  tell(message: Message): void {
    void this.#fleet?.tell(message);
  }

  tellAccepted(lane: string): void {
    this.#lanes.add(lane);
    if (!this.#telling) void this.#tellLanes();
  }

  /** Each turn sends what came together since the one before; ends when nothing did. */
  async #tellLanes(): Promise<void> {
    this.#telling = true;
    while (this.#lanes.size > 0 && this.#fleet !== null) {
      const lanes = [...this.#lanes];
      this.#lanes.clear();
      await this.#fleet.tell({ kind: 'accepted', lanes });
    }
    this.#telling = false;
  }
}
