import { type Instant, instantFromMillis } from '../domain/instant.js';
import { classifyEvents, gapsSeconds } from './classify-events.js';
import type { Inbox, Lane, PendingEvent, Proof, Settlement } from './ports.js';

/** Events settled per transaction, so a burst of thousands neither locks the mirror for long nor fills the memory. */
export const batch = 500;

export interface LaneToSettle {
  readonly lane: Lane;
  readonly proofs: readonly Proof[];
  /** Whether a configured source belongs to the lane. Events without one are ignored. */
  readonly isKnown: boolean;
  /** The difference between the clocks of two daemons that proves nothing. */
  readonly apartMillis: number;
  readonly now: number;
  /** Called after each batch. */
  readonly onSettled: (settled: Settled) => void;
}

/** How many events were worked, will be retried, and were given up. */
export interface Settled {
  readonly worked: number;
  readonly retried: number;
  readonly givenUp: number;
}

/** Settles the events of a lane as `classifyEvents` judges them. Ends after the current batch once `signal` fired. */
export async function settleLane(
  inbox: Pick<Inbox, 'pending' | 'settle' | 'retry'>,
  { lane, proofs, isKnown, apartMillis, now, onSettled }: LaneToSettle,
  signal: AbortSignal,
): Promise<void> {
  const at = instantFromMillis(now);
  // Terminates: each turn reads events after the last one seen, and numbers only rise.
  for (let after = 0, full = true; full; ) {
    const events = await inbox.pending(lane, after, batch);
    // Events proven before a stop are still settled, up to the end of this turn.
    full = events.length === batch && !signal.aborted;
    after = events.at(-1)?.no ?? after;
    const sorted = classifyEvents(events, proofs, at, apartMillis);
    await settle(inbox, sorted.worked, isKnown ? 'worked' : 'ignored', at);
    await settle(inbox, sorted.exhausted, 'given_up', at);
    for (const [attempts, seconds] of gapsSeconds.entries()) {
      const same = sorted.late.filter((event) => event.attempts === attempts);
      if (same.length > 0) await inbox.retry(numbers(same), instantFromMillis(now + seconds * 1000));
    }
    onSettled({
      worked: isKnown ? sorted.worked.length : 0,
      retried: sorted.late.length,
      givenUp: sorted.exhausted.length,
    });
  }
}

async function settle(
  inbox: Pick<Inbox, 'settle'>,
  events: readonly PendingEvent[],
  end: Settlement,
  at: Instant,
): Promise<void> {
  if (events.length > 0) await inbox.settle(numbers(events), end, at);
}

const numbers = (events: readonly PendingEvent[]) => events.map(({ no }) => no);
