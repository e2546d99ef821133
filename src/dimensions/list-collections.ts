import { Fault, isFault, isStatedWait } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Interruption } from '../runtime/interruption.js';
import { tabPerPage } from '../wire/limits.js';
import { paths } from '../wire/paths.js';
import { companies, namedRounds, parseCompany, parseMyCompanies } from './collections/companies.js';
import {
  companyUpdates,
  keptPosts,
  parseUpdates,
  type UnreadablePost,
} from './collections/company-updates.js';
import { collections } from './collections/index.js';
import { parseStats, roundStats } from './collections/round-stats.js';
import { hiddenRound, parseRound, type RoundRecord, rounds } from './collections/rounds.js';
import { about } from './fields.js';
import { finishRows } from './finish-rows.js';
import { type CompanyFound, type MentionedRound, mentionedRounds } from './mentioned-rounds.js';
import type {
  Catalog,
  Collection,
  CollectionName,
  Found,
  Known,
  Listing,
  Lookup,
  RoundLabels,
  Row,
} from './ports.js';
import { keptRound } from './round-names.js';
import { type Trouble, troubles } from './troubles.js';

/** The configuration of a source. */
export interface DimensionSource {
  readonly company: string | null;
  readonly offering: string | null;
  /** Whether the token may be a person's, who may take part in companies that the configuration does not name. */
  readonly isPersonal: boolean;
}

export interface ListingParts {
  readonly source: DimensionSource;
  readonly catalog: Catalog;
  readonly known: Known;
  readonly wanted: ReadonlySet<CollectionName>;
  readonly labelsOf: (round: string) => Promise<RoundLabels>;
  /** Rounds as last read, by id, for conditional requests. Updated here. */
  readonly cache: Map<string, RoundRecord>;
  readonly clock: Clock;
  readonly signal: Interruption;
}

export interface CollectionsListed {
  readonly listings: readonly Listing[];
  /** The failure that ended the listing early; null when every collection was listed. */
  readonly fault: Fault | null;
  /** The first response that broke the contract. Its company, round or post is listed as it is stored. */
  readonly unreadable: Fault | null;
}

/**
 * Lists the wanted collections of one source. A collection is complete only when every resource of it was answered; a
 * failure leaves it and those that depend on it incomplete, and what was complete before it is still returned. A company,
 * round or post that breaks the contract stays as it is stored, and the collection has a problem.
 */
export async function listCollections(parts: ListingParts): Promise<CollectionsListed> {
  const run = new Run(parts);
  const listings: Listing[] = [];
  let fault: Fault | null = null;
  for (const name of [...parts.wanted]) {
    if (fault === null) {
      try {
        listings.push(await run.list(name));
        continue;
      } catch (error) {
        if (!isFault(error)) throw error;
        fault = error;
      }
    }
    listings.push({ kind: 'incomplete', collection: collections[name], problem: problemOf(fault) });
  }
  return { listings: run.finished(listings), fault, unreadable: run.unreadable };
}

/** Returns the text of the problem; null when waiting solves it. */
function problemOf(fault: Fault): string | null {
  if (isStatedWait(fault) || fault.code === 'stopped') return null;
  return fault.message;
}

interface PostsFound {
  readonly rows: readonly Row[];
  readonly unreadable: readonly UnreadablePost[];
  /** Why the platform serves no more of them; null after the last page. */
  readonly refusal: string | null;
  readonly pages: number;
}

class Run {
  #companies: readonly CompanyFound[] | null = null;
  #names: ReadonlyMap<string, string | null> = new Map();
  readonly #companyTroubles: Trouble[] = [];
  readonly #roundTroubles: Trouble[] = [];
  #rounds: readonly RoundRecord[] | null = null;
  #stats: readonly Row[] | null = null;
  #unreadable: Fault | null = null;

  constructor(private readonly parts: ListingParts) {}

  get unreadable(): Fault | null {
    return this.#unreadable;
  }

  async list(name: CollectionName): Promise<Listing> {
    switch (name) {
      case 'companies': {
        const found = await this.#findCompanies();
        const hidden = found.filter((company) => company.kind !== 'served');
        return complete(companies, [], troubles([...this.#companyTroubles, ...hidden]));
      }
      case 'rounds': {
        await this.#findRounds();
        return complete(rounds, [], troubles(this.#roundTroubles));
      }
      case 'round_stats':
        return await this.#listStats();
      case 'company_updates':
        return await this.#listUpdates();
    }
  }

  /** Returns the listings with the rows of companies and rounds filled in. */
  finished(listings: readonly Listing[]): readonly Listing[] {
    const rows = finishRows({
      known: this.parts.known,
      companies: this.#companies ?? [],
      namesOfCompanies: this.#names,
      rounds: this.#rounds,
      stats: this.#stats ?? [],
    });
    return listings.map((listing) => {
      if (listing.kind === 'incomplete') return listing;
      const { name } = listing.collection;
      return name === 'rounds' || name === 'companies' ? { ...listing, rows: rows[name] } : listing;
    });
  }

  async #findCompanies(): Promise<readonly CompanyFound[]> {
    if (this.#companies !== null) return this.#companies;
    const { source, known } = this.parts;
    const ids = new Set<string>();
    if (source.company !== null) ids.add(source.company);
    for (const { companyId } of known.investedRounds) if (companyId !== null) ids.add(companyId);
    if (source.isPersonal) {
      this.#names = await this.#myCompanies();
      for (const id of this.#names.keys()) ids.add(id);
    }
    const found: CompanyFound[] = [];
    for (const id of [...ids].sort()) found.push(await this.#findCompany(id));
    this.#companies = found;
    return found;
  }

  async #findCompany(id: string): Promise<CompanyFound> {
    const answer = await this.#look({ path: paths.company, params: { id }, isPublic: true });
    if (answer.kind !== 'found') return { kind: 'hidden', id, reason: reasonOf(answer) };
    const record = this.#readable(() => about('company', id, parseCompany(answer.body)));
    return record instanceof Fault
      ? { kind: 'unreadable', id, reason: record.message, rounds: namedRounds(answer.body) }
      : { kind: 'served', id, record };
  }

  /**
   * Returns the companies the person takes part in, with their names. Not every token has them, which is no problem. Those
   * that are stored stay when the list cannot be read.
   */
  async #myCompanies(): Promise<ReadonlyMap<string, string | null>> {
    const answer = await this.#look({ path: paths.myCompanies });
    if (answer.kind !== 'found') return new Map();
    const listed = this.#readable(() => parseMyCompanies(answer.body));
    if (!(listed instanceof Fault)) return listed;
    this.#companyTroubles.push({ id: 'the account', reason: listed.message });
    const stored = this.parts.known.stored.get('companies') ?? [];
    return new Map(stored.map(({ id, name }) => [String(id), typeof name === 'string' ? name : null]));
  }

  async #findRounds(): Promise<readonly RoundRecord[]> {
    if (this.#rounds !== null) return this.#rounds;
    const found = await this.#findCompanies();
    const { known, source, cache } = this.parts;
    const records: RoundRecord[] = [];
    for (const round of mentionedRounds(found, known)) {
      if (source.offering !== null && round.id !== source.offering) continue;
      const record = await this.#findRound(round);
      if (record !== null) records.push(record);
    }
    for (const record of records) if (record.etag !== null) cache.set(String(record.row.id), record);
    this.#rounds = records;
    return records;
  }

  /** Returns the round as served, as stored, or as a hidden one; null if it was only stored and is not served any more. */
  async #findRound(round: MentionedRound): Promise<RoundRecord | null> {
    const { id, companyId } = round;
    const { cache, labelsOf } = this.parts;
    const before = cache.get(id);
    const answer = await this.#look({
      path: paths.offering,
      params: { external_id: id },
      catalog: true,
      isPublic: true,
      ...(before?.etag == null ? {} : { etag: before.etag }),
    });
    if (answer.kind === 'same' && before !== undefined) return before;
    const record =
      answer.kind === 'found' ? this.#readable(() => about('offering', id, parseRound(answer.body))) : null;
    if (record !== null && !(record instanceof Fault)) {
      const { row } = record;
      return { ...record, row: { ...row, company_id: row.company_id ?? companyId } };
    }
    const reason = record?.message ?? reasonOf(answer);
    // What its company says of a round that the platform hides is unknown while the company cannot be read.
    const kept = record !== null || round.companyIsUnreadable ? round.stored : undefined;
    if (kept === undefined) cache.delete(id);
    if (kept === undefined && round.summary === undefined && !round.isInvested) return null;
    if (record !== null || (answer.kind === 'unavailable' && answer.forbidden))
      this.#roundTroubles.push({ id, reason });
    if (kept !== undefined) return keptRound(kept, before);
    const labels = round.isInvested ? await labelsOf(id) : null;
    return hiddenRound({ id, companyId, reason }, round.summary, labels);
  }

  async #listStats(): Promise<Listing> {
    const rows: Row[] = [];
    const refused: Trouble[] = [];
    const answering = new Set<unknown>();
    const refusing = new Set<unknown>();
    const found = await this.#findRounds();
    // Served rounds first: stats of a deleted round are refused with any rights.
    const isServed = ({ row }: RoundRecord) => row.unavailable === null;
    for (const { row } of [...found.filter(isServed), ...found.filter((round) => !isServed(round))]) {
      const id = String(row.id);
      // Reading stats needs edit rights on the company. If the platform refused one round of a company and answered none,
      // its other rounds are not asked.
      const company = row.company_id ?? id;
      if (refusing.has(company) && !answering.has(company)) continue;
      const answer = await this.#look({ path: paths.offeringStats, params: { offering_id: id } });
      if (answer.kind === 'found') {
        answering.add(company);
        const parsed = this.#readable(() => parseStats(answer.body, id, this.#now()));
        if (parsed instanceof Fault) refused.push({ id, reason: parsed.message });
        rows.push(...(parsed instanceof Fault ? this.#storedStats(id) : parsed));
      } else {
        refusing.add(company);
        refused.push({ id, reason: reasonOf(answer) });
      }
    }
    this.#stats = rows;
    return complete(roundStats, rows, troubles(refused));
  }

  #storedStats(round: string): readonly Row[] {
    return (this.parts.known.stored.get('round_stats') ?? []).filter(({ offering_id: of }) => of === round);
  }

  async #listUpdates(): Promise<Listing> {
    const rows = new Map<unknown, Row>();
    const kept = new Map<unknown, Row>();
    const stored = this.parts.known.stored.get('company_updates') ?? [];
    const refused: Trouble[] = [];
    for (const { id } of await this.#findCompanies()) {
      const posts = await this.#findPosts(id, stored);
      for (const row of posts.rows) rows.set(row.id, row);
      for (const post of posts.unreadable) refused.push({ id: post.id ?? id, reason: post.fault.message });
      for (const row of keptPosts(stored, id, posts.unreadable)) kept.set(row.id, row);
      if (posts.refusal !== null) refused.push({ id, reason: posts.refusal });
    }
    return complete(companyUpdates, [...new Map([...kept, ...rows]).values()], troubles(refused));
  }

  /**
   * Reads the posts of a company. A post that moves while the pages are read, such as one that is pinned, may be on none of
   * them, so several pages that lack a stored post are read twice.
   */
  async #findPosts(company: string, stored: readonly Row[]): Promise<PostsFound> {
    const found = await this.#readPosts(company);
    if (found.pages === 1) return found;
    const ids = new Set(found.rows.map(({ id }) => id));
    if (stored.every((row) => row.company_id !== company || ids.has(row.id))) return found;
    const again = await this.#readPosts(company);
    return { ...again, rows: [...found.rows, ...again.rows] };
  }

  /** Reads page by page, until the last one or one that the platform refuses. */
  async #readPosts(company: string): Promise<PostsFound> {
    const rows: Row[] = [];
    const unreadable: UnreadablePost[] = [];
    let cursor: string | undefined;
    for (let pages = 1; ; pages += 1) {
      const answer = await this.#look({
        path: paths.companyUpdates,
        params: { id: company },
        query: { per_page: String(tabPerPage.max), cursor },
        isPublic: true,
      });
      if (answer.kind !== 'found') return { rows, unreadable, refusal: reasonOf(answer), pages };
      const page = this.#readable(() => parseUpdates(answer.body, company, { cursor, number: pages }));
      if (page instanceof Fault) {
        unreadable.push({ id: null, fault: page });
        return { rows, unreadable, refusal: null, pages };
      }
      rows.push(...page.rows);
      unreadable.push(...page.unreadable);
      this.#unreadable ??= page.unreadable[0]?.fault ?? null;
      if (page.next === null) return { rows, unreadable, refusal: null, pages };
      cursor = page.next;
    }
  }

  /** Returns what the parser returns, or the fault of a response that breaks the contract. */
  #readable<Value>(parse: () => Value): Value | Fault {
    try {
      return parse();
    } catch (error) {
      if (!isFault(error, 'contract_broken')) throw error;
      this.#unreadable ??= error;
      return error;
    }
  }

  #look(lookup: Lookup): Promise<Found> {
    return this.parts.catalog.look(lookup, this.parts.signal);
  }

  #now(): Instant {
    return instantFromMillis(this.parts.clock.now());
  }
}

const complete = (collection: Collection, rows: readonly Row[], problem: string | null): Listing => ({
  kind: 'complete',
  collection,
  rows,
  problem,
});

const reasonOf = (answer: Found): string =>
  answer.kind === 'unavailable' ? answer.reason : 'the platform said it is unchanged, and nothing is stored';
