import { nodeTooOld } from './supported-node.js';

/** Imported first by the library: whoever imports it on a Node that is too old reads a sentence, not a missing function. */
const refusal = nodeTooOld(process.versions.node);
if (refusal !== null) {
  const error = new Error(`${refusal.message}. Try: ${refusal.hint}`);
  // Where the check stands helps nobody.
  error.stack = `Error: ${error.message}`;
  throw error;
}
