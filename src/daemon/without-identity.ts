import { UnreadPage } from '../client/parse-page.js';
import type { FeedItem } from '../domain/investment.js';
import { unknownFieldsOf } from '../store/page-anomalies.js';
import type { Feed } from '../sync/ports.js';

/** For `"identity": "drop"`: names go no further than the parser. */
export function withoutIdentity(feed: Feed): Feed {
  return {
    page: async (position, signal, onNext) => {
      const page = await feed.page(position, signal, onNext);
      return new UnreadPage(page, () => page.items.map(nameless));
    },
  };
}

export function nameless(item: FeedItem): FeedItem {
  // The body of a record nobody could read may hold anything.
  if (item.kind === 'rejected') return { ...item, body: '' };
  if (item.kind === 'tombstone') return item;
  // So may a field nobody knows, wherever it stands; that it came is counted, by its name.
  const unkept = unknownFieldsOf(item);
  return {
    kind: 'record',
    investment: item.investment.extra === null ? item.investment : { ...item.investment, extra: null },
    identity: null,
    ...(unkept.length === 0 ? {} : { unkept }),
  };
}
