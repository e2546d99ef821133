import { reusedSessions } from '../../postgres/reused-sessions.js';
import { databases } from './databases.js';

const through = new Map<string, Promise<string>>();

/**
 * Like `databases`, but the sessions of one query or reader on PostgreSQL serve the next one, for tests that are not about
 * sessions.
 */
export const reusingDatabases: typeof databases = databases.map((kind) => ({
  ...kind,
  async open() {
    const mirror = await kind.open();
    if (mirror.place.kind === 'sqlite') return mirror;
    const { url } = mirror.place;
    const reused = through.get(url) ?? reusedSessions(url);
    through.set(url, reused);
    return { ...mirror, place: { ...mirror.place, url: await reused } };
  },
}));
