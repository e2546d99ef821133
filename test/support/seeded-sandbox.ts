import { type SandboxOptions, startSandbox } from '../../src/platform/sandbox/sandbox.js';
import { openState } from '../../src/platform/state/database.js';
import { testRandom } from './chance.js';

/**
 * Starts a sandbox whose ids and churn follow from the seed of the run. Receivers of tests listen on loopback. One in
 * memory starts with a copy of an empty database, so that the migrations of the platform run once per process.
 */
export const startSeededSandbox = (options: SandboxOptions = {}) =>
  startSandbox({
    random: testRandom(),
    allowLoopbackWebhooks: true,
    ...(options.dataFile === undefined ? { image: emptyState() } : {}),
    ...options,
  });

let empty: Buffer | undefined;

/** Returns the serialized database of a platform without rows, migrated once per process. */
export function emptyState(): Buffer {
  if (empty === undefined) {
    const state = openState(':memory:');
    empty = state.serialize();
    state.close();
  }
  return empty;
}
