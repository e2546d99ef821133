import type { SourceName } from '../domain/ids.js';
import type { TickResult } from '../sync/tick-parts.js';

/** What one tick of one source did. */
export interface SourceResult extends TickResult {
  readonly source: SourceName;
}
