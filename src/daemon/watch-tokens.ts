import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Access, CredentialPlace, FollowRule } from '../config/config.js';
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
  /** Follow rules, whose accounts sign in, too. */
  readonly rules: readonly Pick<FollowRule, 'rule' | 'access'>[];
  /** Called when the sign-in or the token of a rule was replaced. */
  readonly onRule: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Something with a sign-in or token that may be replaced. A source's name has no slash. */
interface Watched {
  readonly key: string;
  readonly access: Access;
  readonly place: CredentialPlace;
  readonly onReplaced: () => void;
  /** A sign-in was refreshed, by this or another process. */
  readonly onRefreshed: () => void;
}

export interface TokenWatch extends Closable {
  /** Starts looking for replacements. One that happened since the watch was opened counts, too. */
  start(): void;
}

/**
 * Watches the files and vault entries that contain sign-ins, and the files of tokens, for replacement by `rosterd
 * connect`, by another host or by other means. It polls, because mounted files do not deliver change notifications
 * reliably. A refreshed sign-in is noticed as well, at the cost of one tick for a source that works. Tokens from the
 * environment or from a command are not watched, and neither are minted ones, which this daemon stores itself. Resolves
 * when it knows the present files and entries, which has to be before anything reads them.
 */
export async function openTokenWatch({
  engine,
  rules,
  onRule,
  clock,
  logger,
}: WatchParts): Promise<TokenWatch> {
  const stopping = new AbortController();
  const watchedNow = (): readonly Watched[] =>
    [
      ...engine.sources.all.map(({ name, access }) => ({
        key: name,
        access,
        onReplaced: () => engine.sync.recheck(name),
        onRefreshed: () => engine.sync.refreshed(name),
      })),
      ...rules.map(({ rule, access }) => ({
        ...{ key: `rule/${rule}`, access },
        onReplaced: onRule,
        onRefreshed: () => {},
      })),
    ].flatMap((one) => {
      const place = placeOf(one.access);
      return place === null ? [] : [{ ...one, place }];
    });
  let watched = watchedNow();
  const seen = new Map<string, string | null>();
  /** The sign-in of each, by its number. */
  const signIns = new Map<string, number>();
  let entriesDue = Number.NEGATIVE_INFINITY;

  /** Returns a digest of the entry; null when there is none, and undefined when it cannot be read. */
  const markOfEntry = async (key: string): Promise<string | null | undefined> => {
    try {
      const secret = await engine.vault.read(key);
      return secret === null ? null : createHash('sha256').update(secret).digest('hex');
    } catch (error) {
      // Ticks that need the entry report it.
      if (!isFault(error)) logger.warn({ error }, 'a sign-in in the vault could not be read');
      return undefined;
    }
  };

  const markAt = (place: CredentialPlace) =>
    'file' in place ? markOf(place.file) : markOfEntry(place.entry);

  const announce = async ({ key, access, onReplaced, onRefreshed }: Watched) => {
    const tokens = engine.platform.tokensOf(access);
    const signIn = await tokens.signIn?.().catch(() => undefined);
    tokens.reload?.();
    if (signIn === undefined) return onReplaced();
    const isSame = signIn === (signIns.get(key) ?? 0);
    signIns.set(key, signIn);
    if (isSame) onRefreshed();
    else onReplaced();
  };

  const look = async () => {
    const withEntries = clock.monotonic() >= entriesDue;
    if (withEntries) entriesDue = clock.monotonic() + entryLookMillis;
    for (const one of watched) {
      const { key, place } = one;
      // Each entry of a server that is away takes seconds.
      if (stopping.signal.aborted) return;
      if ('entry' in place && !withEntries) continue;
      const mark = await markAt(place);
      // A server that is away for a moment has not lost the entry.
      if (mark === undefined) continue;
      const before = seen.get(key);
      seen.set(key, mark);
      if (before === undefined || before === mark || mark === null || stopping.signal.aborted) continue;
      await announce(one);
    }
  };
  const run = async () => {
    while (!stopping.signal.aborted) {
      await look();
      await clock.wait(lookMillis, stopping.signal);
    }
  };
  const learn = async (some: readonly Watched[]) => {
    await Promise.all(
      some.map(async ({ key, place }) => {
        // One that cannot be read yet counts as replaced as soon as it can be: the source has not read it either.
        const mark = (await markAt(place)) ?? null;
        if (!seen.has(key)) seen.set(key, mark);
      }),
    );
  };
  let learning = learn(watched);
  const off = engine.sources.onChange(({ removed }) => {
    watched = watchedNow();
    for (const name of removed) for (const held of [seen, signIns]) held.delete(name);
    const added = watched.filter(({ key }) => !seen.has(key));
    learning = Promise.all([learning, learn(added)]).then(() => {});
  });
  await learning;
  let running: Promise<void> | null = null;
  return {
    start: () => {
      running ??= run();
    },
    close: async () => {
      off();
      stopping.abort();
      await running;
      await learning;
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
