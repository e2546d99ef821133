import type { Section } from '../measures.js';
import { accept } from './accept.js';
import { bootstrap } from './bootstrap.js';
import { delta } from './delta.js';
import { growth } from './growth.js';
import { hostile } from './hostile.js';
import { live } from './live.js';
import { peer } from './peer.js';
import { platform } from './platform.js';
import { postgres } from './postgres.js';
import { queries } from './queries.js';
import { relisting } from './relisting.js';
import { requests } from './requests.js';
import { sandbox } from './sandbox.js';
import { sequence } from './sequence.js';
import { soak } from './soak.js';
import { sources } from './sources.js';
import { stalls } from './stalls.js';
import { start } from './start.js';
import { tick } from './tick.js';
import { wan } from './wan.js';
import { webhook } from './webhook.js';

/** In the order in which they run and are reported. */
export const sections: readonly Section[] = [
  ...[bootstrap, relisting, delta, tick, webhook, live, sequence, accept, stalls, wan, queries],
  ...[start, growth, requests, sources, platform, sandbox, postgres, soak, hostile, peer],
];
