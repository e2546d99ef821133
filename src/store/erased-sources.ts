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

/**
 * Writes the receipt of an erased source of which a backup has nothing. Without it, the mirror would no longer know of the
 * erasure, and a later restore of another backup would bring the source back. `?` are the name and the time.
 */
export const keepErased = `INSERT INTO erasures (id, cause, invisible_at, scrubbed_at)
  SELECT e.id, 'source_erased', e.at, e.at FROM (SELECT CAST(? AS text) AS id, CAST(? AS text) AS at) e
  WHERE NOT EXISTS (SELECT 1 FROM sources WHERE name = e.id)
    AND NOT EXISTS (SELECT 1 FROM erasures WHERE id = e.id AND cause = 'source_erased')`;

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
