import { type SandboxOptions, startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { testRandom } from './chance.js';

/** Starts a sandbox whose ids and churn follow from the seed of the run. */
export const startSeededSandbox = (options: SandboxOptions = {}) =>
  startSandbox({ random: testRandom(), ...options });
