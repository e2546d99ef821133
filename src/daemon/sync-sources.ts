import { investmentFeed } from '../client/investments.js';
import type { Config, SourceConfig } from '../config/config.js';
import { defined } from '../domain/defined.js';
import type { PageToken, Position } from '../domain/position.js';
import type { Interruption } from '../runtime/interruption.js';
import { readPage } from '../store/page-facts.js';
import type { Feed, PageEnvelope, SourceIdentity, SyncSource, Urgency } from '../sync/ports.js';
import type { PlatformConnection } from './connect-platform.js';
import { expectedRows } from './expected-rows.js';
import { fingerprintsOf, realmOfAccess } from './fingerprint.js';
import { dropsIdentity, withoutIdentity } from './without-identity.js';

/** Called after each page, so that a command can show progress. `isFirst`: a listing begins with it, perhaps again. */
export type PageListener = (source: string, page: PageEnvelope, isFirst: boolean) => void;

/** Called when the platform said about how many records the listing of a source reads. */
export type CountListener = (source: string, rows: number) => void;

const never = new AbortController().signal;

/** The scopes of an installation token cannot be read, but records show them. So many records are nearly always enough to tell. */
const sampleRecords = 10;

/** Deactivated investors show no grant, and the oldest investments come first: more pages are read while those are all theirs. */
const samplePagesMax = 10;

/** Returns the configured sources, each with a feed bound to its token, filters and page size. */
export async function syncSources(
  config: Config,
  sources: readonly SourceConfig[],
  platform: PlatformConnection,
  onPage: PageListener = () => {},
): Promise<readonly SyncSource[]> {
  return await Promise.all(sources.map((source) => syncSource(config, source, platform, onPage)));
}

/** Returns a source with a feed bound to its token, filters and page size. */
export async function syncSource(
  config: Config,
  source: SourceConfig,
  platform: PlatformConnection,
  onPage: PageListener = () => {},
  onCount: CountListener = () => {},
): Promise<SyncSource> {
  const tokens = platform.tokensOf(source.access);
  const api = platform.client.as(tokens);
  const { companyId, offeringId, investorId } = source.filters;
  const scope = {
    company: companyId ?? null,
    filters: {
      ...defined({ offering_id: offeringId, investor_id: investorId }),
    },
    perPage: config.sync.perPage,
  };
  const isDropped = dropsIdentity(config, source);
  const feed = (urgency: Urgency): Feed => {
    const read = watched(investmentFeed(api, scope, urgency), (page, isFirst) =>
      onPage(source.name, page, isFirst),
    );
    return isDropped ? withoutIdentity(read) : read;
  };
  const identify = async (): Promise<SourceIdentity> => ({
    name: source.name,
    ...fingerprintsOf(config, source, source.followed?.realm ?? (await realmOfAccess(source.access, tokens))),
    isFollowed: source.followed !== undefined,
  });
  // Besides the feed: a count that cannot be had holds nothing up.
  const besides = platform.client.besides(tokens);
  // A token of the other realm reads other records, and a file may get one at any time.
  const mayChange = source.access.kind === 'token' && source.access.token.file !== null;
  return {
    identity: await identify(),
    ...(mayChange ? { identify } : {}),
    feed,
    expectedRows: async (signal) => {
      const rows = await expectedRows(besides, source.filters, signal);
      if (rows !== null) onCount(source.name, rows);
      return rows;
    },
    limits: () => platform.client.limitsOf(tokens),
    refreshLimits: () => platform.client.refreshLimits(tokens, never),
    // `"identity": "drop"` erases what was stored before when the mirror is opened. For that of a rule, the first check does it
    // too: a daemon with the former configuration may have stored more since.
    ...(config.identity === 'drop'
      ? {}
      : {
          dropsIdentity: isDropped,
          mayReadIdentity: async (signal: Interruption) => {
            if (isDropped) return false;
            return await shownGrant((perPage) => investmentFeed(api, { ...scope, perPage }, 'routine'), {
              perPage: scope.perPage,
              signal,
            });
          },
        }),
  };
}

/** Returns whether the first records that can show it include identity; null when none of the sample can. */
async function shownGrant(
  feedOf: (perPage: number) => Feed,
  { perPage, signal }: { readonly perPage: number; readonly signal: Interruption },
): Promise<boolean | null> {
  let position: Position = { kind: 'start' };
  for (let pages = 1; ; pages += 1) {
    const page = await feedOf(pages === 1 ? sampleRecords : perPage).page(position, signal);
    const { identityIncluded } = readPage(page.parse().items);
    if (identityIncluded !== null || !page.hasMore || pages === samplePagesMax) return identityIncluded;
    position = { kind: 'page', token: page.next as PageToken };
  }
}

function watched(feed: Feed, onPage: (page: PageEnvelope, isFirst: boolean) => void): Feed {
  return {
    page: async (position, signal, onNext) => {
      const page = await feed.page(position, signal, onNext);
      onPage(page, position.kind === 'start');
      return page;
    },
  };
}
