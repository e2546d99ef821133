import type { SourceName } from '../domain/ids.js';
import type { FollowedSource } from '../installations/ports.js';

/** A source of which a mirror stores nothing any more, because it was erased. */
export interface ErasedSource {
  readonly name: SourceName;
  /** Its entry in the registry of followed sources; null for a source that no follow rule created. */
  readonly entry: FollowedSource | null;
}

/** Selects the names of sources that were erased and not listed again since. */
export const erasedNames = `SELECT DISTINCT e.id AS name FROM erasures e
  WHERE e.cause = 'source_erased' AND e.id IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM sources s WHERE s.name = e.id AND s.erasing_since IS NULL)`;

/** Returns the sources that must stay erased. One that is followed again, and has no rows yet, is none of them. */
export function erasedSources(
  names: readonly string[],
  followed: readonly FollowedSource[],
): readonly ErasedSource[] {
  const entries = new Map<string, FollowedSource>(followed.map((entry) => [entry.source, entry]));
  const forgotten = followed.filter(({ reason }) => reason === 'forgotten').map(({ source }) => source);
  return [...new Set([...names, ...forgotten])].flatMap((name) => {
    const entry = entries.get(name) ?? null;
    return isFollowed(entry) ? [] : [{ name: name as SourceName, entry }];
  });
}

export const isFollowed = (entry: FollowedSource | null | undefined): boolean =>
  entry?.state === 'waiting' || entry?.state === 'connected';
