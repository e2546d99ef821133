import type { Step } from '../exchange.js';
import { versionFromPin } from './choose-version.js';
import { identify } from './identify.js';
import { spendCredential, spendIp } from './spend.js';

/** The first steps of every route that requires a credential. */
export const bearer: readonly [Step, ...Step[]] = [spendIp('ip'), identify, versionFromPin, spendCredential];
