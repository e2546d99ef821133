import { nodeTooOld, notNode } from './supported-node.js';

/** Imported first by the library, so that an import elsewhere than on a Node that is new enough throws a clear error. */
const refusal = notNode(process.versions) ?? nodeTooOld(process.versions.node);
if (refusal !== null) {
  const error = new Error(`${refusal.message}. Try: ${refusal.hint}`);
  // The stack of this check would not help the user.
  error.stack = `Error: ${error.message}`;
  throw error;
}
