import type { InstallationId, SourceName } from '../domain/ids.js';
import type { Closable } from '../runtime/lifecycle.js';
import { startWakeableLoop } from '../runtime/wakeable-loop.js';
import { type FollowingParts, InstallationFollower } from './installation-follower.js';

export interface Following extends Closable {
  /** Resolves when the stored sources are synced. Needs no answer of the platform. */
  readonly ready: Promise<void>;
  /** An event named an installation that was created, changed or revoked. The event is only a reason to look. */
  seen(installation: InstallationId): void;
  /** The platform refused the token of a source. */
  refused(source: SourceName): void;
  /** The stored sources may have changed, or this daemon became the leader. */
  look(): void;
  /** The account of a rule may have signed in again: rules that wait after a failure go on at once. */
  retry(): void;
}

/** How often the stored sources are read: a query of one row. */
const pollMillis = 2_000;
/** Where another process has changed them, all are read: the next look waits so many times as long as that took. */
const readFactor = 10;

/**
 * Keeps the followed sources equal to the installations of the configured applications. At start, each hour and after
 * events it asks the platform what is installed. It stores what the answer means and acts on what is stored, so a crash at
 * any step loses nothing. What a failed or incomplete answer leaves out is not disconnected.
 */
export function followInstallations(parts: FollowingParts): Following {
  const follower = new InstallationFollower(parts);
  const stopping = new AbortController();
  let readied = () => {};
  const ready = new Promise<void>((resolve) => {
    readied = resolve;
  });
  const loop = startWakeableLoop(parts.clock, stopping, async () => {
    const begunAt = parts.clock.monotonic();
    const wait = await follower.turn(stopping.signal);
    if (follower.isKnown) readied();
    // A command, or another daemon, may store a change at any time.
    if (parts.leads()) return Math.min(wait, pollMillis);
    return Math.min(wait, Math.max(pollMillis, readFactor * (parts.clock.monotonic() - begunAt)));
  });
  return {
    ready,
    seen: (installation) => {
      follower.events.add(installation);
      loop.look();
    },
    refused: (source) => {
      follower.refused.add(source);
      loop.look();
    },
    look: loop.look,
    retry: () => {
      follower.retry();
      loop.look();
    },
    close: async () => {
      await loop.close();
      readied();
    },
  };
}
