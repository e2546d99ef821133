import type { ChildFailed } from '../runtime/child-failed.js';
import type { LakeAsk, LakeSynced } from './lake.js';
import type { MadeExport, PublishAsk } from './publish-exports.js';

export type PublishJob =
  | { readonly kind: 'exports'; readonly ask: PublishAsk }
  | { readonly kind: 'lake'; readonly ask: LakeAsk };

export interface PublishRequest {
  readonly file: string;
  readonly job: PublishJob;
  /** The time of the daemon's clock. */
  readonly now: number;
}

export type Published =
  | { readonly kind: 'exports'; readonly made: MadeExport }
  | { readonly kind: 'lake'; readonly made: LakeSynced };

export type PublishReply = Published | ChildFailed;
