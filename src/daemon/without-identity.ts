import { UnreadPage } from '../client/parse-page.js';
import type { Config, SourceConfig } from '../config/config.js';
import type { FeedItem } from '../domain/investment.js';
import { unknownFieldsOf } from '../store/page-facts.js';
import type { Feed } from '../sync/ports.js';

/** Whether the configuration, or the rule that the source follows, stores no identity. */
export const dropsIdentity = (
  { identity }: Pick<Config, 'identity'>,
  { followed }: Pick<SourceConfig, 'followed'>,
): boolean => identity === 'drop' || followed?.identity === 'drop';

/** Removes identity from every page, for `"identity": "drop"`: names never leave the parser. */
export function withoutIdentity(feed: Feed): Feed {
  return {
    page: async (position, signal, onNext) => {
      const page = await feed.page(position, signal, onNext);
      return new UnreadPage(page, () => page.parse().items.map(nameless));
    },
  };
}

export function nameless(item: FeedItem): FeedItem {
  // The body of an unreadable record may contain anything, names included.
  if (item.kind === 'rejected') return { ...item, body: '' };
  if (item.kind === 'tombstone') return item;
  // So may an unknown field at any level; only its name is kept, for the count.
  const unkept = unknownFieldsOf(item);
  return {
    kind: 'record',
    investment: item.investment.extra === null ? item.investment : { ...item.investment, extra: null },
    identity: null,
    ...(unkept.length === 0 ? {} : { unkept }),
  };
}
