import type { Config, SourceConfig } from '../config/config.js';
import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import { type OverallState, overallStates, worstFirst } from '../domain/overall-state.js';
import type { Clock } from '../runtime/clock.js';
import type { HealthReport } from '../runtime/health-register.js';
import type { DatabaseLocation } from '../store/database-location.js';
import { dialectFor } from '../store/dialect/dialect-for.js';
import { readFleet } from '../store/reads/fleet.js';
import { type Ask, inSnapshot, type Snapshots } from '../store/reads/snapshot.js';
import { type CompanyOfSource, readCompaniesOf } from '../store/reads/source-companies.js';
import { countSources } from '../store/reads/source-counts.js';
import { type JudgedSource, readJudgedSources } from '../store/reads/source-facts.js';
import { type Known, type SourceStatus, sourcesElsewhere, statusOf, statusWanted } from './status.js';

export interface SourcesWanted {
  /** Part of a name, a company's name, a company id or an installation id; in any case. */
  readonly search: string;
  /** Null for every state. */
  readonly state: OverallState | null;
  /** The name of a follow rule; null for every source. */
  readonly rule: string | null;
  /** The first page is 1. */
  readonly page: number;
  readonly limit: number;
}

/** What a source mirrors, as far as the configuration, the registry and the mirror know it. */
export interface Mirrored {
  readonly company_id: string | null;
  readonly company_name: string | null;
  readonly installation: string | null;
  /** The follow rule that created it; null for a listed source. */
  readonly rule: string | null;
}

export interface SourceListed extends Omit<JudgedSource, 'follow'>, Mirrored {
  /** When its rows are erased, or were erased; null when nothing is planned. */
  readonly erase_after: string | null;
  readonly erased_at: string | null;
}

/** One page of the sources, the worst first. */
export interface SourceList {
  readonly at: Instant;
  /** All sources. */
  readonly sources_total: number;
  /** Sources that the search and the rule select, by state. */
  readonly by_state: Readonly<Record<OverallState, number>>;
  /** Sources that the search, the rule and the state select. */
  readonly matching: number;
  readonly page: number;
  readonly pages: number;
  /** The follow rules that have a source. */
  readonly rules: readonly string[];
  readonly sources: readonly SourceListed[];
}

/** Returns one page of the sources. All of them are judged, so that counts and order are those of every other page. */
export async function listSources(
  location: DatabaseLocation | Snapshots,
  clock: Clock,
  config: Config | null,
  problems: readonly HealthReport[],
  wanted: SourcesWanted,
): Promise<SourceList> {
  const database = 'take' in location ? config?.database : location;
  const shared = database !== undefined && dialectFor(database).shared;
  const now = clock.now();
  const read = async (ask: Ask): Promise<SourceList> => {
    const elsewhere = sourcesElsewhere(shared ? await readFleet(ask) : null);
    const all = await readJudgedSources(ask, now, { ...statusWanted(config), elsewhere, problems });
    const configured = new Map((config?.sources ?? []).map((one) => [String(one.name), one]));
    const text = wanted.search.trim().toLowerCase();
    // Every company is read for a search only: a page needs those of its own sources.
    const searched = text === '' ? null : companiesBySource(await readCompaniesOf(ask, null));
    const selected = all.filter(
      (one) =>
        (wanted.rule === null || one.follow?.rule === wanted.rule) &&
        (searched === null ||
          textsOf(one, configured.get(one.source), searched.get(one.source) ?? []).some((part) =>
            part.toLowerCase().includes(text),
          )),
    );
    const matching =
      wanted.state === null ? selected : selected.filter(({ overall }) => overall === wanted.state);
    const pages = Math.max(1, Math.ceil(matching.length / wanted.limit));
    const page = Math.min(wanted.page, pages);
    const shown = matching.toSorted(worstFirst).slice((page - 1) * wanted.limit, page * wanted.limit);
    const companies =
      searched ??
      companiesBySource(
        await readCompaniesOf(
          ask,
          shown.map(({ source }) => source),
        ),
      );
    return {
      at: instantFromMillis(now),
      sources_total: all.length,
      by_state: countSources(selected).by_state,
      matching: matching.length,
      page,
      pages,
      rules: [...new Set(all.flatMap(({ follow }) => (follow === null ? [] : [follow.rule])))].sort(),
      sources: shown.map((one) => listed(one, configured.get(one.source), companies.get(one.source) ?? [])),
    };
  };
  return 'take' in location ? await location.take(read) : await inSnapshot(location, read);
}

const companiesBySource = (
  companies: readonly CompanyOfSource[],
): ReadonlyMap<string, readonly CompanyOfSource[]> => {
  const found = new Map<string, CompanyOfSource[]>();
  for (const one of companies) {
    const some = found.get(one.source);
    if (some === undefined) found.set(one.source, [one]);
    else some.push(one);
  }
  return found;
};

/** The texts that a search looks through. */
function textsOf(
  { source, follow }: JudgedSource,
  config: SourceConfig | undefined,
  companies: readonly CompanyOfSource[],
): readonly string[] {
  return [
    source,
    ...(follow === null ? [] : [follow.target, follow.installation]),
    ...[config?.company ?? '', config?.installation ?? ''],
    ...companies.flatMap(({ id, name }) => [id, name ?? '']),
  ];
}

function listed(
  { follow, ...one }: JudgedSource,
  config: SourceConfig | undefined,
  companies: readonly CompanyOfSource[],
): SourceListed {
  return {
    ...one,
    ...mirroredBy(follow, config, companies),
    erase_after: follow?.erase_after ?? null,
    erased_at: follow?.erased_at ?? null,
  };
}

/** A source of several companies has no company of its own. */
function mirroredBy(
  follow: JudgedSource['follow'],
  config: SourceConfig | undefined,
  companies: readonly CompanyOfSource[],
): Mirrored {
  const [only] = companies;
  const id =
    follow?.target ??
    config?.company ??
    config?.filters.companyId ??
    (companies.length === 1 ? (only?.id ?? null) : null);
  return {
    company_id: id,
    company_name: companies.find((one) => one.id === id)?.name ?? null,
    installation: follow?.installation ?? config?.installation ?? null,
    rule: follow?.rule ?? null,
  };
}

/** Everything about one source. */
export interface SourceShown extends SourceStatus, Mirrored {
  /** `listed` in the configuration, created by a follow `rule`, or `unlisted`: only its rows are left. */
  readonly origin: 'listed' | 'followed' | 'unlisted';
  /** Where its token comes from, without the token; null when the configuration does not say. */
  readonly token: string | null;
}

/** Returns one source, or null when neither the mirror nor the configuration has it. */
export async function showSource(
  location: DatabaseLocation | Snapshots,
  clock: Clock,
  config: Config | null,
  known: Known,
  name: string,
): Promise<SourceShown | null> {
  const status = await statusOf(location, clock, config, known, { only: [name], ticksMax: ticksShown });
  const [one] = status.sources;
  if (one === undefined) return null;
  const read = (ask: Ask) => readCompaniesOf(ask, [name]);
  const companies = 'take' in location ? await location.take(read) : await inSnapshot(location, read);
  const own = config?.sources.find((source) => source.name === name);
  return {
    ...one,
    ...mirroredBy(one.follow, own, companies),
    origin: originOf(one.follow !== null, own),
    token: own !== undefined ? tokenText(own.access) : one.follow?.state === 'connected' ? mintedToken : null,
  };
}

function originOf(isFollowed: boolean, own: SourceConfig | undefined) {
  if (own !== undefined && own.followed === undefined) return 'listed';
  return isFollowed ? 'followed' : 'unlisted';
}

const ticksShown = 10;

const mintedToken = 'minted for the installation, in the vault of rosterd';

function tokenText(access: SourceConfig['access']): string {
  switch (access.kind) {
    case 'token':
      return access.token.origin;
    case 'credentials':
      return 'file' in access.at
        ? `sign-in in ${access.at.file}`
        : `sign-in in the vault entry ${access.at.entry}`;
    case 'stored':
      return mintedToken;
  }
}

/** Returns whether an erasure of this source began and did not end: nothing of it is shown any more. */
export async function isHalfErased(location: DatabaseLocation, name: string): Promise<boolean> {
  const rows = await inSnapshot(
    location,
    (ask) => ask`SELECT 1 AS there FROM sources WHERE name = ${name} AND erasing_since IS NOT NULL`,
  );
  return rows.length > 0;
}

/** Returns the fault for a name that no source has. */
export function noSource(name: string): Fault {
  return new Fault('usage', `no source is called ${JSON.stringify(name)}`, {
    hint: 'rosterd sources list TEXT, which searches names and ids',
  });
}

/** Returns the names of all sources, or of those that a follow rule created, without erased ones. */
export async function sourceNames(
  location: DatabaseLocation,
  clock: Clock,
  config: Config | null,
  rule: string | null,
): Promise<readonly string[]> {
  const judged = await inSnapshot(location, (ask) =>
    readJudgedSources(ask, clock.now(), statusWanted(config)),
  );
  return judged
    .filter(({ overall, follow }) => overall !== 'erased' && (rule === null || follow?.rule === rule))
    .map(({ source }) => source);
}

/** Returns the state that a word names, or null. */
export const overallStateNamed = (word: string): OverallState | null =>
  overallStates.find((state) => state === word) ?? null;
