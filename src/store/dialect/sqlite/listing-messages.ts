import type { ListingResults, ListingTask } from './listing-work.js';
import type { Failure } from './reading-messages.js';

export interface ListingRequest {
  readonly file: string;
  readonly task: ListingTask;
}

export type ListingReply =
  | { readonly kind: 'done'; readonly result: ListingResults[ListingTask['kind']] }
  | { readonly kind: 'failed'; readonly failure: Failure };
