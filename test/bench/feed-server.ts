import { serveFeed } from './serve-feed.js';

/*
 * The feed as its own process: `feed-server.ts RECORDS LATENCY_MS`. Sends its address to its parent and ends with
 * it.
 */

const { url } = await serveFeed(Number(process.argv[2]), Number(process.argv[3]));
process.send?.(url);
process.on('disconnect', () => process.exit(0));
