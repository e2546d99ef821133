import type { FaultCode } from '../../../domain/fault.js';

/** Several readers share a process; each session has its own connection. */
interface Asking {
  readonly session: number;
  /** Identifies the reply, which repeats it. */
  readonly no: number;
}

export type ReadingDemand = Asking & Demand;

export type Demand =
  | { readonly kind: 'open'; readonly file: string }
  | { readonly kind: 'all'; readonly sql: string; readonly parameters: readonly unknown[] }
  /** Starts a large result, which `next` fetches in batches until one is empty; `drop` ends it early. */
  | { readonly kind: 'begin'; readonly sql: string; readonly parameters: readonly unknown[] }
  | { readonly kind: 'next' | 'drop' | 'close' };

export type ReadingReply =
  | { readonly no: number; readonly kind: 'rows'; readonly rows: readonly unknown[] }
  | { readonly no: number; readonly kind: 'failed'; readonly failure: Failure };

/** An error, serialized for the other process. */
export type Failure =
  | { readonly of: 'sqlite'; readonly code: string; readonly message: string }
  | { readonly of: 'fault'; readonly code: FaultCode; readonly message: string; readonly hint: string | null }
  | { readonly of: 'defect'; readonly message: string };
