import type { SourceName } from '../../../src/domain/ids.js';
import type { Instant } from '../../../src/domain/instant.js';
import type {
  AcceptedEvent,
  Inbox,
  Lane,
  PendingEvent,
  Proof,
  Settlement,
} from '../../../src/inbox/ports.js';

interface Row extends AcceptedEvent {
  readonly no: number;
  state: 'pending' | Settlement;
  attempts: number;
  nextAt: Instant;
}

/** The inbox port over an array, which lives as long as the test keeps it. */
export class MemoryInbox implements Inbox {
  readonly rows: Row[] = [];
  readonly proofs = new Map<SourceName, Proof>();
  /** Set to make the next calls fail. */
  failure: Error | undefined;

  async accept(event: AcceptedEvent): Promise<'stored' | 'duplicate'> {
    this.#mayFail();
    const known = this.rows.some(
      (row) => row.eventId === event.eventId && row.installation === event.installation,
    );
    if (known) return 'duplicate';
    const state = event.lane === null ? 'ignored' : 'pending';
    this.rows.push({ ...event, no: this.rows.length + 1, state, attempts: 0, nextAt: event.receivedAt });
    return 'stored';
  }

  async waiting() {
    this.#mayFail();
    const lanes = new Map<Lane, { lane: Lane; events: number; dueAt: Instant }>();
    for (const { lane, state, nextAt } of this.rows) {
      if (state !== 'pending' || lane === null) continue;
      const one = lanes.get(lane) ?? { lane, events: 0, dueAt: nextAt };
      lanes.set(lane, { lane, events: one.events + 1, dueAt: nextAt < one.dueAt ? nextAt : one.dueAt });
    }
    return [...lanes.values()];
  }

  async pending(lane: Lane, after: number, limit: number): Promise<readonly PendingEvent[]> {
    this.#mayFail();
    return this.rows
      .filter((row) => row.state === 'pending' && row.lane === lane && row.no > after)
      .slice(0, limit)
      .map((row) => ({ ...row }));
  }

  async settle(nos: readonly number[], end: Settlement): Promise<void> {
    this.#mayFail();
    for (const row of this.rows) if (nos.includes(row.no)) row.state = end;
  }

  async retry(nos: readonly number[], nextAt: Instant): Promise<void> {
    this.#mayFail();
    for (const row of this.rows)
      if (nos.includes(row.no)) {
        row.attempts += 1;
        row.nextAt = nextAt;
      }
  }

  async proofOf(source: SourceName): Promise<Proof | null> {
    this.#mayFail();
    return this.proofs.get(source) ?? null;
  }

  states(): readonly string[] {
    return this.rows.map(({ state }) => state);
  }

  #mayFail(): void {
    if (this.failure !== undefined) throw this.failure;
  }
}
