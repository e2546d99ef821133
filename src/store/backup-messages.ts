import type { ChildFailed } from '../runtime/child-failed.js';
import type { BackupMade } from './backup/made.js';

export interface BackupRequest {
  readonly file: string;
  readonly target: string;
  /** The time of the parent's clock. */
  readonly now: number;
  readonly version: string;
}

export type BackupReply =
  | { readonly kind: 'share'; readonly share: number }
  | { readonly kind: 'done'; readonly made: BackupMade }
  | ChildFailed;
