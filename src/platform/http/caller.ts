import type { Version } from '../../wire/versions.js';
import type { Realm } from '../state/secrets.js';

export interface AppRow {
  readonly no: number;
  readonly id: string;
  readonly organization_no: number;
  readonly name: string;
  readonly status: 'active' | 'suspended' | 'disabled' | 'deleted';
  readonly approved_at: number | null;
  readonly pinned_version: Version;
}

interface Credential {
  /** Stable name of the credential for rate limits and the request ledger; never the credential itself. */
  readonly key: string;
  readonly realm: Realm;
  readonly app: AppRow;
  /** Expanded: includes the implied scopes. */
  readonly scopes: ReadonlySet<string>;
}

/** The authenticated caller, set by the `identify` step. */
export type Caller =
  | (Credential & { readonly kind: 'user'; readonly tokenNo: number; readonly userNo: number })
  | (Credential & {
      readonly kind: 'installation';
      readonly tokenNo: number;
      readonly installationNo: number;
      readonly companyNo: number | null;
      readonly syndicateNo: number | null;
    })
  | (Credential & { readonly kind: 'application'; readonly tokenNo: number })
  | (Credential & { readonly kind: 'syndicate_key'; readonly tokenNo: number; readonly syndicateNo: number })
  | (Credential & { readonly kind: 'publishable' });
