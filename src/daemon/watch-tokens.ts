import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Access, CredentialPlace } from '../config/config.js';
import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import type { Engine } from './engine.js';

/** Short, because a person who signed in again waits for the source to continue. */
const lookMillis = 2_000;

/** An entry of the vault costs a query on a shared server. */
const entryLookMillis = 10_000;

interface WatchParts {
  readonly engine: Pick<Engine, 'platform' | 'sync' | 'sources' | 'vault'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Watches the files and vault entries that contain sign-ins, and the files of tokens, for replacement by `rosterd
 * connect`, by another host or by other means. It polls, because mounted files do not deliver change notifications
 * reliably. A token refreshed by rosterd itself is noticed as well,
 * at the cost of one tick. Tokens from the
 * environment or from a command are not watched, and neither are minted ones, which this daemon stores itself.
 */
export function watchTokens({ engine, clock, logger }: WatchParts): Closable {
  const stopping = new AbortController();
  const watchedNow = () =>
    engine.sources.all.flatMap(({ name, access }) => {
      const place = placeOf(access);
      return place === null ? [] : [{ name, access, place }];
    });
  let watched = watchedNow();
  const seen = new Map<string, string | null>();
  const off = engine.sources.onChange(({ removed }) => {
    watched = watchedNow();
    for (const name of removed) seen.delete(name);
  });
  let entriesDue = Number.NEGATIVE_INFINITY;

  /** Returns a digest of the entry; null when it cannot be read. */
  const markOfEntry = async (key: string): Promise<string | null> => {
    try {
      const secret = await engine.vault.read(key);
      return secret === null ? null : createHash('sha256').update(secret).digest('hex');
    } catch (error) {
      // Ticks that need the entry report it.
      if (!isFault(error)) logger.warn({ error }, 'a sign-in in the vault could not be read');
      return null;
    }
  };

  const look = async () => {
    const withEntries = clock.monotonic() >= entriesDue;
    if (withEntries) entriesDue = clock.monotonic() + entryLookMillis;
    for (const { name, access, place } of watched) {
      if ('entry' in place && !withEntries) continue;
      const mark = 'file' in place ? await markOf(place.file) : await markOfEntry(place.entry);
      // A server that is away for a moment has not lost the entry.
      if (mark === null && 'entry' in place) continue;
      const before = seen.get(name);
      seen.set(name, mark);
      if (before === undefined || before === mark || mark === null || stopping.signal.aborted) continue;
      engine.platform.tokensOf(access).reload?.();
      engine.sync.recheck(name);
    }
  };
  const run = async () => {
    while (!stopping.signal.aborted) {
      await look();
      await clock.wait(lookMillis, stopping.signal);
    }
  };
  const running = run();
  return {
    close: async () => {
      off();
      stopping.abort();
      await running;
    },
  };
}

function placeOf(access: Access): CredentialPlace | null {
  if (access.kind === 'credentials') return access.at;
  if (access.kind === 'stored' || access.token.file === null) return null;
  return { file: access.token.file };
}

/** Returns a mark that differs between versions of a file; null when it cannot be read. */
async function markOf(file: string): Promise<string | null> {
  try {
    const { ino, mtimeMs, size } = await stat(file);
    return `${ino}:${mtimeMs}:${size}`;
  } catch {
    return null;
  }
}
