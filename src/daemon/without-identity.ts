import type { Feed } from '../sync/ports.js';

/** For `"identity": "drop"`: names go no further than the parser. */
export function withoutIdentity(feed: Feed): Feed {
  return {
    page: async (position, signal) => {
      const page = await feed.page(position, signal);
      return {
        ...page,
        items: page.items.map((item) => {
          if (item.kind === 'record') return { ...item, identity: null };
          // The body of a record nobody could read may hold anything.
          return item.kind === 'rejected' ? { ...item, body: '' } : item;
        }),
      };
    },
  };
}
