import type { Config, SourceConfig } from '../config/config.js';
import type { Dimensions } from '../dimensions/create-dimensions.js';
import type { SourceParts } from '../dimensions/listing-plan.js';
import type { SourceName } from '../domain/ids.js';
import type { SyncSource } from '../sync/ports.js';
import type { Sync } from '../sync/sync.js';
import { SourceIndex } from './source-index.js';

/** The sources that a process works or could work now. Listed ones stay; others come and go while it runs. */
export interface SourceSet extends Pick<SourceIndex, 'all' | 'find' | 'concerning' | 'withInstallation'> {
  /** The sources that are written in the configuration. */
  readonly listed: readonly SourceConfig[];
  /**
   * Adds sources: they are followed if this process follows any, or shared among the members of the fleet. Throws when a
   * source of one of the names exists, and then adds none.
   */
  add(sources: readonly SourceConfig[]): Promise<void>;
  /**
   * Removes sources. A running tick or listing ends after the page it writes; events that arrive are dropped from now on.
   * Resolves when nothing of them runs any more. Stored rows stay. Ignores names without a source.
   */
  remove(names: readonly SourceName[]): Promise<void>;
  /**
   * Calls `listener` right after each change, before an added source can tick and after a removed one has ended. Returns
   * a function that removes the listener.
   */
  onChange(listener: (change: SourceChange) => void): () => void;
}

export interface SourceChange {
  readonly added: readonly SourceName[];
  readonly removed: readonly SourceName[];
}

export interface SourceSetParts {
  readonly listed: readonly SourceConfig[];
  readonly sync: Pick<Sync, 'add' | 'remove'>;
  readonly dimensions: Pick<Dimensions, 'add' | 'remove'> | null;
  /** Returns a source as `sync` and `dimensions` take it. */
  readonly prepare: (source: SourceConfig) => Promise<PreparedSource>;
  /** Called when nothing of a removed source runs any more. */
  readonly forget: (source: SourceConfig) => void;
}

export interface PreparedSource {
  readonly sync: SyncSource;
  readonly dimensions: SourceParts;
}

/** Returns the set. `sync` and `dimensions` know the listed sources already. */
export function createSourceSet(parts: SourceSetParts): SourceSet {
  const { sync, dimensions } = parts;
  const index = new SourceIndex(parts.listed);
  const listeners = new Set<(change: SourceChange) => void>();
  /** Changes run one after the other, so that a name that is removed and added again is never in use twice. */
  let last: Promise<void> = Promise.resolve();
  const inTurn = (change: () => Promise<void>): Promise<void> => {
    const turn = last.then(change);
    last = turn.catch(() => {});
    return turn;
  };
  const changed = (change: SourceChange) => {
    for (const listener of listeners) listener(change);
  };

  return {
    listed: parts.listed,
    get all() {
      return index.all;
    },
    find: (name) => index.find(name),
    concerning: (event) => index.concerning(event),
    withInstallation: (installation) => index.withInstallation(installation),
    add: (sources) =>
      inTurn(async () => {
        refuseKnown(sources, index);
        const prepared: [SourceConfig, PreparedSource][] = [];
        for (const source of sources) prepared.push([source, await parts.prepare(source)]);
        // From here on in one turn of the event loop: listeners hold back an added source before it ticks.
        for (const [source, ready] of prepared) {
          index.add(source);
          dimensions?.add(ready.dimensions);
        }
        sync.add(prepared.map(([, ready]) => ready.sync));
        if (sources.length > 0) changed({ added: sources.map(({ name }) => name), removed: [] });
      }),
    remove: (names) =>
      inTurn(async () => {
        const sources = names.flatMap((name) => index.find(name) ?? []);
        for (const { name } of sources) index.remove(name);
        await Promise.all(sources.flatMap(({ name }) => [sync.remove(name), dimensions?.remove(name)]));
        for (const source of sources) parts.forget(source);
        if (sources.length > 0) changed({ added: [], removed: sources.map(({ name }) => name) });
      }),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Returns the configuration with the sources of now, for what judges them, such as the status. */
export function configNow(config: Config, { sources }: { readonly sources: Pick<SourceSet, 'all'> }): Config {
  return { ...config, sources: sources.all };
}

function refuseKnown(sources: readonly SourceConfig[], index: SourceIndex): void {
  const names = new Set<string>();
  for (const { name } of sources) {
    if (names.has(name) || index.find(name) !== undefined) throw new Error(`two sources are called ${name}`);
    names.add(name);
  }
}
