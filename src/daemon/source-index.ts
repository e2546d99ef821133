import type { SourceConfig } from '../config/config.js';
import type { SourceName } from '../domain/ids.js';
import type { EventSeen } from '../inbox/ports.js';

/** What an event says about the sources it concerns. */
export type Concern = Pick<EventSeen, 'installation' | 'company'>;

/**
 * Finds sources by name, installation and company. The time depends on how many sources are found, not on how many there
 * are.
 */
export class SourceIndex {
  readonly #byName = new Map<string, SourceConfig>();
  readonly #byInstallation = new Groups<string>();
  readonly #byCompany = new Groups<string | null>();
  /** The same for sources without a configured installation. */
  readonly #looseByCompany = new Groups<string | null>();
  #all: readonly SourceConfig[] | null = null;

  constructor(sources: readonly SourceConfig[]) {
    for (const source of sources) this.add(source);
  }

  /** All sources, in the order in which they were added. A new array after each change. */
  get all(): readonly SourceConfig[] {
    this.#all ??= [...this.#byName.values()];
    return this.#all;
  }

  find(name: string): SourceConfig | undefined {
    return this.#byName.get(name);
  }

  /** Throws when a source of this name exists. */
  add(source: SourceConfig): void {
    if (this.#byName.has(source.name)) throw new Error(`two sources are called ${source.name}`);
    this.#byName.set(source.name, source);
    for (const [groups, key] of this.#groupsOf(source)) groups.add(key, source);
    this.#all = null;
  }

  remove(name: SourceName): void {
    const source = this.#byName.get(name);
    if (source === undefined) return;
    this.#byName.delete(name);
    for (const [groups, key] of this.#groupsOf(source)) groups.remove(key, source);
    this.#all = null;
  }

  withInstallation(installation: string): readonly SourceConfig[] {
    return this.#byInstallation.of(installation);
  }

  /**
   * Returns the sources an event concerns. A source with a configured installation matches by it, otherwise by its
   * company; one with neither matches every event. What the event does not name matches every source.
   *
   * An event with an installation of no source counts by its company: a platform may deliver each event once, with any
   * installation that receives it, such as that of a connected person or one that replaced the configured one.
   */
  concerning({ installation, company }: Concern): readonly SourceConfig[] {
    const own = installation === '' ? [] : this.#byInstallation.of(installation);
    const others = installation === '' ? this.#byCompany : this.#looseByCompany;
    if (company === null) return [...own, ...others.all()];
    const named = own.length === 0 ? this.#byCompany : this.#looseByCompany;
    return [...own, ...named.of(company), ...others.of(null)];
  }

  #groupsOf(source: SourceConfig): readonly (readonly [Groups<string | null>, string | null])[] {
    const { installation, company } = source;
    const own = [this.#byCompany, company] as const;
    return installation === null
      ? [own, [this.#looseByCompany, company]]
      : [own, [this.#byInstallation, installation]];
  }
}

/** Sources by a key. */
class Groups<Key> {
  readonly #groups = new Map<Key, Set<SourceConfig>>();

  add(key: Key, source: SourceConfig): void {
    const group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, new Set([source]));
    else group.add(source);
  }

  remove(key: Key, source: SourceConfig): void {
    const group = this.#groups.get(key);
    group?.delete(source);
    if (group?.size === 0) this.#groups.delete(key);
  }

  of(key: Key): readonly SourceConfig[] {
    return [...(this.#groups.get(key) ?? [])];
  }

  all(): readonly SourceConfig[] {
    return [...this.#groups.values()].flatMap((group) => [...group]);
  }
}
