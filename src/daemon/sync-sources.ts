import { investmentFeed } from '../client/investments.js';
import type { Config, SourceConfig } from '../config/config.js';
import { defined } from '../domain/defined.js';
import type { Interruption } from '../runtime/interruption.js';
import { readPage } from '../store/page-facts.js';
import type { Feed, SourceIdentity, SyncSource, Urgency } from '../sync/ports.js';
import type { PlatformConnection } from './connect-platform.js';
import { fingerprintsOf, realmOfAccess } from './fingerprint.js';
import { dropsIdentity, withoutIdentity } from './without-identity.js';

/** Called after each page, so that a command can show progress. */
export type PageListener = (source: string, rows: number) => void;

const never = new AbortController().signal;

/** The scopes of an installation token cannot be read, but records show them. So many records are enough to tell. */
const sampleRecords = 10;

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
    const read = watched(investmentFeed(api, scope, urgency), (rows) => onPage(source.name, rows));
    return isDropped ? withoutIdentity(read) : read;
  };
  const identify = async (): Promise<SourceIdentity> => ({
    name: source.name,
    ...fingerprintsOf(config, source, source.followed?.realm ?? (await realmOfAccess(source.access, tokens))),
    isFollowed: source.followed !== undefined,
  });
  // A token of the other realm reads other records, and a file may get one at any time.
  const mayChange = source.access.kind === 'token' && source.access.token.file !== null;
  return {
    identity: await identify(),
    ...(mayChange ? { identify } : {}),
    feed,
    limits: () => platform.client.limitsOf(tokens),
    refreshLimits: () => platform.client.refreshLimits(tokens, never),
    // `"identity": "drop"` of the configuration erases everything when the mirror is opened. That of a rule erases with the
    // first check what was stored before; a page without names may not come for weeks.
    ...(config.identity === 'drop'
      ? {}
      : {
          dropsIdentity: isDropped,
          mayReadIdentity: async (signal: Interruption) => {
            if (isDropped) return false;
            const sample = investmentFeed(api, { ...scope, perPage: sampleRecords }, 'routine');
            return readPage((await sample.page({ kind: 'start' }, signal)).parse().items).identityIncluded;
          },
        }),
  };
}

function watched(feed: Feed, onPage: (rows: number) => void): Feed {
  return {
    page: async (position, signal, onNext) => {
      const page = await feed.page(position, signal, onNext);
      onPage(page.size);
      return page;
    },
  };
}
