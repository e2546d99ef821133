import { stat } from 'node:fs/promises';
import type { Access } from '../config/config.js';
import type { Clock } from '../runtime/clock.js';
import type { Closable } from '../runtime/lifecycle.js';
import type { Engine } from './engine.js';

/** Short, because a person who signed in again waits for the source to continue. */
const lookMillis = 2_000;

interface WatchParts {
  readonly engine: Pick<Engine, 'platform' | 'sync' | 'sources'>;
  readonly clock: Clock;
}

/**
 * Watches the files that contain tokens for replacement, by `rosterd connect` or by other means. It polls, because
 * mounted files do not deliver change notifications reliably. A token refreshed by rosterd itself is noticed as well,
 * at the cost of one tick. Tokens from the environment or from a command are not watched.
 */
export function watchTokens({ engine, clock }: WatchParts): Closable {
  const stopping = new AbortController();
  const watchedNow = () =>
    engine.sources.all.flatMap(({ name, access }) => {
      const file = fileOf(access);
      return file === null ? [] : [{ name, access, file }];
    });
  let watched = watchedNow();
  const seen = new Map<string, string | null>();
  const off = engine.sources.onChange(({ removed }) => {
    watched = watchedNow();
    for (const name of removed) seen.delete(name);
  });

  const look = async () => {
    for (const { name, access, file } of watched) {
      const mark = await markOf(file);
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

function fileOf(access: Access): string | null {
  if (access.kind === 'stored') return null;
  return access.kind === 'credentials' ? access.file : access.token.file;
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
