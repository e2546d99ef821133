import type { Step } from '../exchange.js';
import { versionFromPin } from './choose-version.js';
import { identify } from './identify.js';
import { spendCredential, spendIp } from './spend.js';

/** How every route behind a credential begins. */
export const bearer: readonly [Step, ...Step[]] = [spendIp('ip'), identify, versionFromPin, spendCredential];
