import type { Applied } from './ports.js';

/** Returns the sum of several commits of one tick. */
export function total(sum: Applied, more: Applied): Applied {
  return {
    added: sum.added + more.added,
    changed: sum.changed + more.changed,
    removed: sum.removed + more.removed,
    unchanged: sum.unchanged + more.unchanged,
    quarantined: sum.quarantined + more.quarantined,
  };
}
