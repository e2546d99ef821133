import type { SourceName } from '../domain/ids.js';
import type { Logger } from '../runtime/logger.js';
import type { SyncSource } from './ports.js';

/** The sources that other processes tick because of webhooks out of a quota that runs short, by the limits that they share. */
export class SpacedElsewhere {
  #sources: readonly SyncSource[] = [];
  /** Null until it is asked for: which limits a source shares may have become known meanwhile. */
  #byLimit: ReadonlyMap<string, ReadonlySet<SourceName>> | null = null;

  constructor(private readonly logger: Logger) {}

  set(sources: readonly SyncSource[]): void {
    this.#sources = sources;
    this.#byLimit = null;
    if (sources.length === 0) return;
    const refreshed = sources.map((source) =>
      source
        .refreshLimits?.()
        .catch((error: unknown) =>
          this.logger.debug(
            { error, source: source.identity.name },
            'what is left of a quota could not be read',
          ),
        ),
    );
    void Promise.all(refreshed).then(() => {
      this.#byLimit = null;
    });
  }

  /** Returns those that share the limit. */
  sharing(limit: string): ReadonlySet<SourceName> {
    this.#byLimit ??= byLimit(this.#sources);
    return this.#byLimit.get(limit) ?? none;
  }
}

const none: ReadonlySet<SourceName> = new Set();

function byLimit(sources: readonly SyncSource[]): ReadonlyMap<string, ReadonlySet<SourceName>> {
  const found = new Map<string, Set<SourceName>>();
  for (const { identity, limits } of sources)
    for (const { key } of limits?.() ?? []) {
      const sharing = found.get(key) ?? new Set();
      sharing.add(identity.name);
      found.set(key, sharing);
    }
  return found;
}
