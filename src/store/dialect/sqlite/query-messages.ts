import type { FaultCode, Place } from '../../../domain/fault.js';
import type { Instant } from '../../../domain/instant.js';
import type { YoungerSource } from '../../reads/as-of-reach.js';
import type { SqlValue } from '../port.js';

/** The query that the child process runs. */
export interface QueryRequest {
  readonly file: string;
  readonly sql: string;
  readonly rowsMax: number | null;
  readonly rowBytesMax: number;
  readonly bytesMax: number | null;
  readonly memoryMegabytes: number;
  /** With false, a statement that would read personal data is refused. */
  readonly identity: boolean;
  /** With false, a statement that would read the audit log is refused. */
  readonly audit: boolean;
  /** The past time to read; null for the present state. */
  readonly asOf: Instant | null;
}

/** From the child: the columns once, then batches. After each batch the child waits for `more`. */
export type QueryReply =
  | {
      readonly kind: 'columns';
      readonly columns: readonly string[];
      readonly younger: readonly YoungerSource[];
    }
  | { readonly kind: 'rows'; readonly rows: readonly (readonly SqlValue[])[] }
  | { readonly kind: 'end'; readonly truncated: boolean }
  | {
      readonly kind: 'failed';
      readonly code: FaultCode;
      readonly message: string;
      readonly hint: string | null;
      readonly place: Place | null;
    };

export type QueryDemand =
  | { readonly kind: 'start'; readonly request: QueryRequest }
  | { readonly kind: 'more' };
