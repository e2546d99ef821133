import { investmentFeed } from '../client/investments.js';
import type { Config, SourceConfig } from '../config/config.js';
import type { Feed, SyncSource, Urgency } from '../sync/ports.js';
import type { PlatformConnection } from './connect-platform.js';
import { fingerprintOf, realmOfToken } from './fingerprint.js';
import { withoutIdentity } from './without-identity.js';

/** Lets a command show what arrives, page by page. */
export type PageListener = (source: string, rows: number) => void;

/** Configuration into sources: each its feed, with its token, filters and page size bound inside. */
export async function syncSources(
  config: Config,
  sources: readonly SourceConfig[],
  platform: PlatformConnection,
  onPage: PageListener = () => {},
): Promise<readonly SyncSource[]> {
  return await Promise.all(
    sources.map(async (source) => {
      const tokens = platform.tokensOf(source.access);
      const api = platform.client.as(tokens);
      const { companyId, offeringId, investorId } = source.filters;
      const scope = {
        company: companyId ?? null,
        filters: {
          ...(offeringId === undefined ? {} : { offering_id: offeringId }),
          ...(investorId === undefined ? {} : { investor_id: investorId }),
        },
        perPage: config.sync.perPage,
      };
      const feed = (urgency: Urgency): Feed => {
        const read = watched(investmentFeed(api, scope, urgency), (rows) => onPage(source.name, rows));
        return config.identity === 'drop' ? withoutIdentity(read) : read;
      };
      return {
        identity: { name: source.name, fingerprint: fingerprintOf(config, source, await realmOf(source)) },
        feed,
      };
    }),
  );
}

/** A client's key tells its realm as a token does, and needs no file to exist yet. */
async function realmOf({ access }: SourceConfig): Promise<'test' | 'live' | 'unknown'> {
  return realmOfToken(
    access.kind === 'token' ? await access.token.reveal() : access.clientId.replace(/^pk_/, 'at_'),
  );
}

function watched(feed: Feed, onPage: (rows: number) => void): Feed {
  return {
    page: async (position, signal) => {
      const page = await feed.page(position, signal);
      onPage(page.items.length);
      return page;
    },
  };
}
