import { serveCompanies } from './companies-feed.js';

/*
 * The feeds of many companies as a process: `companies-server.ts RECORDS COMPANIES PORT`. Sends its address to its parent and
 * ends with it.
 */

const { url } = await serveCompanies(
  Number(process.argv[2]),
  Number(process.argv[3]),
  Number(process.argv[4]),
);
process.send?.(url);
process.on('disconnect', () => process.exit(0));
