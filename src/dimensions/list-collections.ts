import { Fault, isFault, isStatedWait } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Clock } from '../runtime/clock.js';
import type { Interruption } from '../runtime/interruption.js';
import { tabPerPage } from '../wire/limits.js';
import { paths } from '../wire/paths.js';
import {
  type CompanyRecord,
  companies,
  hiddenCompany,
  namedRounds,
  parseCompany,
  parseMyCompanies,
  type RoundSummary,
} from './collections/companies.js';
import { companyUpdates, keptPosts, parseUpdates } from './collections/company-updates.js';
import { collections } from './collections/index.js';
import { parseStats, roundStats } from './collections/round-stats.js';
import { hiddenRound, parseRound, type RoundRecord, rounds } from './collections/rounds.js';
import { about } from './fields.js';
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
import { keptRound, nameRounds } from './round-names.js';
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

interface CompanyFound {
  readonly id: string;
  readonly record: CompanyRecord | null;
  readonly rounds: readonly RoundSummary[];
  readonly reason: string | null;
  readonly isUnreadable: boolean;
}

class Run {
  #companies: readonly CompanyFound[] | null = null;
  #names: ReadonlyMap<string, string | null> = new Map();
  readonly #companyTroubles: Trouble[] = [];
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
        return complete(companies, [], troubles([...this.#companyTroubles, ...found]));
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

  /** Fills in the rows of companies and rounds, which need what the other collections say: names and currencies. */
  finished(listings: readonly Listing[]): readonly Listing[] {
    const found = this.#rounds ?? [];
    const names = nameRounds(found);
    const currencyOf = this.#currencies();
    const roundRows = found.map(({ row }) => ({
      ...row,
      name: names.get(String(row.id)) ?? null,
      currency: currencyOf(String(row.id)),
    }));
    return listings.map((listing) => {
      if (listing.kind === 'incomplete') return listing;
      if (listing.collection === rounds) return { ...listing, rows: roundRows };
      if (listing.collection === companies) return { ...listing, rows: this.#companyRows(roundRows) };
      return listing;
    });
  }

  #companyRows(roundRows: readonly Row[]): readonly Row[] {
    const currencies = new Map<unknown, Set<Row[string]>>();
    for (const { company_id, currency } of roundRows) {
      if (currency == null) continue;
      const known = currencies.get(company_id);
      if (known === undefined) currencies.set(company_id, new Set([currency]));
      else known.add(currency);
    }
    const stored = firsts(this.parts.known.stored.get('companies') ?? [], ({ id }) => id);
    const naming = (this.#rounds ?? []).filter(({ companyName }) => companyName !== null);
    const named = firsts(naming, ({ row }) => row.company_id);
    return (this.#companies ?? []).map(({ id, record, reason, isUnreadable }) => {
      const own = [...(currencies.get(id) ?? [])];
      const before = stored.get(id);
      if (isUnreadable && before !== undefined) return before;
      const currency = own.length > 1 ? null : (own[0] ?? before?.currency ?? null);
      if (record !== null) return { ...record.row, currency };
      const once = this.#rounds === null && before?.unavailable === reason ? before?.name : null;
      const name =
        this.#names.get(id) ?? named.get(id)?.companyName ?? (typeof once === 'string' ? once : null);
      return { ...hiddenCompany(id, reason ?? '', name), currency };
    });
  }

  /** Looks up the currency of a round: of its investments, else the one of its stats, else the one stored. */
  #currencies(): (id: string) => string | null {
    const { investedRounds, stored } = this.parts.known;
    const invested = firsts(investedRounds, ({ id }) => id);
    const counted = firsts(this.#stats ?? [], (row) => row.offering_id);
    const before = firsts(stored.get('rounds') ?? [], ({ id }) => id);
    return (id) => {
      const known = [
        invested.get(id)?.currency ?? null,
        counted.get(id)?.currency ?? null,
        before.get(id)?.currency ?? null,
      ];
      return known.find((currency) => typeof currency === 'string') ?? null;
    };
  }

  readonly #roundTroubles: Trouble[] = [];

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
    for (const id of [...ids].sort()) {
      const answer = await this.#look({ path: paths.company, params: { id }, isPublic: true });
      if (answer.kind !== 'found') {
        found.push({ id, record: null, rounds: [], reason: reasonOf(answer), isUnreadable: false });
        continue;
      }
      const record = this.#readable(() => about('company', id, parseCompany(answer.body)));
      found.push(
        record instanceof Fault
          ? { id, record: null, rounds: namedRounds(answer.body), reason: record.message, isUnreadable: true }
          : { id, record, rounds: record.rounds, reason: null, isUnreadable: false },
      );
    }
    this.#companies = found;
    return found;
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
    const invested = new Map(known.investedRounds.map((round) => [round.id, round]));
    const summaries = new Map(
      found.flatMap(({ id, rounds: named }) =>
        named.map((summary) => [summary.id, { summary, companyId: id }] as const),
      ),
    );
    const here = new Set(found.map(({ id }) => id));
    const unreadable = new Set<unknown>(found.filter(({ isUnreadable }) => isUnreadable).map(({ id }) => id));
    // A round without investments that its company no longer names may still be served, such as a canceled one.
    const rows = firsts(known.stored.get('rounds') ?? [], ({ id }) => id);
    const stored = [...rows.values()].filter(({ company_id: of }) => typeof of === 'string' && here.has(of));
    const ids = new Set([...invested.keys(), ...summaries.keys(), ...stored.map(({ id }) => String(id))]);
    const records: RoundRecord[] = [];
    for (const id of [...ids].sort()) {
      if (source.offering !== null && id !== source.offering) continue;
      const before = cache.get(id);
      const answer = await this.#look({
        path: paths.offering,
        params: { external_id: id },
        catalog: true,
        isPublic: true,
        ...(before?.etag == null ? {} : { etag: before.etag }),
      });
      const { summary, companyId } = summaries.get(id) ?? { summary: undefined, companyId: null };
      const of = companyId ?? invested.get(id)?.companyId ?? null;
      if (answer.kind === 'same' && before !== undefined) {
        records.push(before);
        continue;
      }
      const record =
        answer.kind === 'found' ? this.#readable(() => about('offering', id, parseRound(answer.body))) : null;
      if (record !== null && !(record instanceof Fault)) {
        const { row } = record;
        records.push({ ...record, row: { ...row, company_id: row.company_id ?? of } });
        continue;
      }
      const reason = record?.message ?? reasonOf(answer);
      const kept = rows.get(id);
      // What its company says of a round that the platform hides is unknown while the company cannot be read.
      const isKept = kept !== undefined && (record !== null || unreadable.has(kept.company_id));
      if (!isKept) cache.delete(id);
      if (!isKept && summary === undefined && !invested.has(id)) continue;
      if (record !== null || (answer.kind === 'unavailable' && answer.forbidden))
        this.#roundTroubles.push({ id, reason });
      const labels = !isKept && invested.has(id) ? await this.parts.labelsOf(id) : null;
      records.push(
        isKept ? keptRound(kept, before) : hiddenRound({ id, companyId: of, reason }, summary, labels),
      );
    }
    for (const record of records) if (record.etag !== null) cache.set(String(record.row.id), record);
    this.#rounds = records;
    return records;
  }

  async #listStats(): Promise<Listing> {
    const rows: Row[] = [];
    const refused: { id: string; reason: string }[] = [];
    const answering = new Set<unknown>();
    const refusing = new Map<unknown, string>();
    const found = await this.#findRounds();
    // Served rounds first: stats of a deleted round are refused with any rights.
    const isServed = ({ row }: RoundRecord) => row.unavailable === null;
    for (const { row } of [...found.filter(isServed), ...found.filter((round) => !isServed(round))]) {
      const id = String(row.id);
      // Reading stats needs edit rights on the company. If the platform refused one round of a company and answered none,
      // its other rounds are not asked.
      const already = refusing.get(row.company_id);
      if (already !== undefined && !answering.has(row.company_id)) continue;
      const answer = await this.#look({ path: paths.offeringStats, params: { offering_id: id } });
      if (answer.kind === 'found') {
        answering.add(row.company_id);
        const parsed = this.#readable(() => parseStats(answer.body, id, this.#now()));
        if (parsed instanceof Fault) refused.push({ id, reason: parsed.message });
        rows.push(...(parsed instanceof Fault ? this.#storedStats(id) : parsed));
      } else {
        const reason = reasonOf(answer);
        refusing.set(row.company_id, reason);
        refused.push({ id, reason });
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
    const refused: { id: string; reason: string }[] = [];
    for (const { id } of await this.#findCompanies()) {
      let cursor: string | undefined;
      for (let page = 1; ; page += 1) {
        const answer = await this.#look({
          path: paths.companyUpdates,
          params: { id },
          query: { per_page: String(tabPerPage.max), cursor },
          isPublic: true,
        });
        if (answer.kind !== 'found') {
          refused.push({ id, reason: reasonOf(answer) });
          break;
        }
        const read = this.#readable(() => parseUpdates(answer.body, id, { cursor, number: page }));
        const {
          rows: found,
          unreadable,
          next,
        } = read instanceof Fault ? { rows: [], unreadable: [{ id: null, fault: read }], next: null } : read;
        for (const row of found) rows.set(row.id, row);
        for (const post of unreadable) refused.push({ id: post.id ?? id, reason: post.fault.message });
        for (const row of keptPosts(stored, id, unreadable)) kept.set(row.id, row);
        this.#unreadable ??= unreadable[0]?.fault ?? null;
        if (next === null) break;
        cursor = next;
      }
    }
    return complete(companyUpdates, [...new Map([...kept, ...rows]).values()], troubles(refused));
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

/** Returns the first of the items with each key. */
function firsts<Item>(items: readonly Item[], keyOf: (item: Item) => unknown): ReadonlyMap<unknown, Item> {
  const found = new Map<unknown, Item>();
  for (const item of items) {
    const key = keyOf(item);
    if (!found.has(key)) found.set(key, item);
  }
  return found;
}

const reasonOf = (answer: Found): string =>
  answer.kind === 'unavailable' ? answer.reason : 'the platform said it is unchanged, and nothing is stored';
