import type { Scenario } from '../scenario.js';
import { acceptToTick, sigterm } from './accept-to-tick.js';
import { damagedFile } from './damaged-file.js';
import { damagedServer } from './damaged-server.js';
import { fullDisk } from './full-disk.js';
import { locked } from './locked.js';
import { lockedServer } from './locked-server.js';
import { refresh } from './refresh.js';
import { serverDies } from './server-dies.js';
import { twoWriters } from './two-writers.js';

/** Each class has the same name on both databases; only a server can die without its daemon. */
export const scenarios: Readonly<Record<'sqlite' | 'postgres', readonly Scenario[]>> = {
  sqlite: [acceptToTick, refresh, sigterm, twoWriters, locked, fullDisk, damagedFile],
  postgres: [acceptToTick, refresh, sigterm, twoWriters, lockedServer, fullDisk, damagedServer, serverDies],
};
