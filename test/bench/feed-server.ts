import { serveFeed } from './serve-feed.js';

/* The feed as a process of its own: `feed-server.ts RECORDS LATENCY_MS`. Tells its parent where it is, ends with it. */

const { url } = await serveFeed(Number(process.argv[2]), Number(process.argv[3]));
process.send?.(url);
process.on('disconnect', () => process.exit(0));
