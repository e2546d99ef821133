import type { FaultCode } from '../../../domain/fault.js';

/** One of several readers that share a process; each has a connection of its own. */
interface Asking {
  readonly session: number;
  /** Stands in the reply as well. */
  readonly no: number;
}

export type ReadingDemand = Asking & Demand;

export type Demand =
  | { readonly kind: 'open'; readonly file: string }
  | { readonly kind: 'all'; readonly sql: string; readonly parameters: readonly unknown[] }
  /** For many rows, which `next` fetches piece by piece until a piece is empty; `drop` ends it before. */
  | { readonly kind: 'begin'; readonly sql: string; readonly parameters: readonly unknown[] }
  | { readonly kind: 'next' | 'drop' | 'close' };

export type ReadingReply =
  | { readonly no: number; readonly kind: 'rows'; readonly rows: readonly unknown[] }
  | { readonly no: number; readonly kind: 'failed'; readonly failure: Failure };

/** An error as it travels between processes. */
export type Failure =
  | { readonly of: 'sqlite'; readonly code: string; readonly message: string }
  | { readonly of: 'fault'; readonly code: FaultCode; readonly message: string; readonly hint: string | null }
  | { readonly of: 'defect'; readonly message: string };
