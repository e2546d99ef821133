import type { Path } from './path.js';

/** A problem between values that are valid by themselves. */
export interface Clash {
  readonly path: Path;
  readonly message: string;
  readonly hint?: string;
}
