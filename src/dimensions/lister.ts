import type { Fault } from '../domain/fault.js';
import type { SourceName } from '../domain/ids.js';
import type { Clock } from '../runtime/clock.js';
import type { Logger } from '../runtime/logger.js';
import { collections } from './collections/index.js';
import type { RoundRecord } from './collections/rounds.js';
import { type Compared, compareListings } from './compare-listings.js';
import { type CollectionsListed, listCollections } from './list-collections.js';
import type { ListingPlan } from './listing-plan.js';
import {
  type CollectionName,
  collectionNames,
  type DimensionStore,
  type Known,
  type Names,
  type RoundLabels,
} from './ports.js';

export interface ListerParts {
  readonly store: DimensionStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with the names that are stored after a listing. Another process may have stored them. */
  readonly onNames: (source: SourceName, names: Names) => void;
  /** Called after a listing that changed something is stored. */
  readonly onChanged: (source: SourceName) => void;
}

/** Asks the platform for the collections of a source and stores, or compares, what it answers. Decides nothing about when. */
export class Lister {
  constructor(private readonly parts: ListerParts) {}

  /**
   * Lists the wanted collections and stores what differs. Returns the fault that ended the listing early, or null; what
   * it left incomplete is asked for again in `plan`.
   */
  async list(plan: ListingPlan, wanted: readonly CollectionName[]): Promise<Fault | null> {
    const { store, clock, logger, onNames, onChanged } = this.parts;
    const { name } = plan.source;
    const startedAt = clock.monotonic();
    const { companies, rounds, round_stats, company_updates } = collections;
    const needed = [companies, rounds, round_stats];
    // Read only where posts are listed: a company may have thousands.
    if (wanted.includes('company_updates')) needed.push(company_updates);
    const known = await store.begin(name, wanted, needed);
    const { listings, fault, unreadable } = await this.#askPlatform(plan, wanted, known, plan.cache);
    const differences = await store.apply(name, known.attempt, listings);
    if (unreadable !== null)
      logger.warn(
        { source: name, code: unreadable.code, hint: unreadable.message },
        'a company, round or post could not be read and stays as it is stored',
      );
    const isChanged = differences.added + differences.changed + differences.removed > 0;
    if (isChanged) onChanged(name);
    onNames(name, (await store.state(name)).names);
    const listed = listings.find(({ collection }) => collection.name === 'rounds');
    if (listed?.kind === 'complete') {
      const invested = known.investedRounds.map(({ id }) => id);
      plan.hasListed([...invested, ...listed.rows.map(({ id }) => String(id))]);
    }
    if (fault === null) plan.succeeded(startedAt);
    else
      for (const { kind, collection } of listings) if (kind === 'incomplete') plan.asked.add(collection.name);
    const tookMs = Math.round(clock.monotonic() - startedAt);
    logger[isChanged ? 'info' : 'debug'](
      { source: name, tookMs, ...differences },
      'companies and rounds were listed',
    );
    return fault;
  }

  /**
   * Lists everything and compares it with what is stored. Writes nothing. Throws the fault of a listing that ended early,
   * or of a company, round or post that could not be read.
   */
  async compare(plan: ListingPlan): Promise<Compared> {
    const known = await this.parts.store.begin(plan.source.name, [], Object.values(collections));
    const { listings, fault, unreadable } = await this.#askPlatform(plan, collectionNames, known, new Map());
    const failure = fault ?? unreadable;
    if (failure !== null) throw failure;
    return compareListings(listings, known);
  }

  async #askPlatform(
    plan: ListingPlan,
    wanted: readonly CollectionName[],
    known: Known,
    cache: Map<string, RoundRecord>,
  ): Promise<CollectionsListed> {
    return await listCollections({
      source: plan.source,
      catalog: plan.source.catalog,
      known,
      wanted: new Set(wanted),
      labelsOf: (round) => this.#labelsOf(plan, round),
      cache,
      clock: this.parts.clock,
      signal: plan.removal,
    });
  }

  async #labelsOf({ source, labels }: ListingPlan, round: string): Promise<RoundLabels> {
    const known = labels.get(round);
    if (known !== undefined) return known;
    const found = await this.parts.store.labelsOf(source.name, round);
    // Its investments may have been removed a moment ago, and others may follow.
    if (Object.values(found).some((value) => value !== null)) labels.set(round, found);
    return found;
  }
}
