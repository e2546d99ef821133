import type { Scenario } from '../scenario.js';
import { acceptToTick, sigterm } from './accept-to-tick.js';
import { damagedFile } from './damaged-file.js';
import { fullDisk } from './full-disk.js';
import { locked } from './locked.js';
import { refresh } from './refresh.js';
import { twoWriters } from './two-writers.js';

export const scenarios: readonly Scenario[] = [
  acceptToTick,
  refresh,
  sigterm,
  twoWriters,
  locked,
  fullDisk,
  damagedFile,
];
