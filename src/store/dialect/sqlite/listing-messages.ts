import type { ListingResults, ListingTask } from './listing-work.js';
import type { Failure } from './reading-messages.js';

export interface ListingRequest {
  readonly kind: 'task';
  readonly file: string;
  readonly task: ListingTask;
}

/** `go` answers `asks`. After `stop`, the process waits for no other program any more. */
export type ListingOrder = ListingRequest | { readonly kind: 'go' } | { readonly kind: 'stop' };

export type ListingReply =
  /** Before each commit of several: the process waits until it may. */
  | { readonly kind: 'asks' }
  /** After that commit. */
  | { readonly kind: 'wrote' }
  | { readonly kind: 'done'; readonly result: ListingResults[ListingTask['kind']] }
  | { readonly kind: 'failed'; readonly failure: Failure };
