import type { Eligible, Installed } from '../tasks/connect.js';

/** A company that is connected now, and the source that mirrors it. */
export interface Connected extends Installed {
  readonly company: Eligible;
  readonly source: string;
  readonly file: string;
  /** The source mirrored the company in another way or as another installation before: it has to list again. */
  readonly replaces: boolean;
}
