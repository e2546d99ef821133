import { type SandboxOptions, startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { testRandom } from './chance.js';

/** Starts a sandbox whose ids and churn follow from the seed of the run. Receivers of tests listen on loopback. */
export const startSeededSandbox = (options: SandboxOptions = {}) =>
  startSandbox({ random: testRandom(), allowLoopbackWebhooks: true, ...options });
