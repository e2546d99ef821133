import type { FaultCode } from '../domain/fault.js';
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
  | {
      readonly kind: 'failed';
      readonly code: FaultCode;
      readonly message: string;
      readonly hint: string | null;
    };
