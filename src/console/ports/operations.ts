import type { Role } from '../../domain/role.js';

/** A user of the console: the name it signed in with, such as `token:ana`, and what it may do. */
export interface Actor {
  readonly name: string;
  readonly role: Role;
}

export const operatorActions = [
  'resync',
  'accept_deletions',
  'pause',
  'resume',
  'resend_notice',
  'resend_alert',
  'retry_quarantine',
] as const;
export type OperatorAction = (typeof operatorActions)[number];

export type AuditAction =
  | OperatorAction
  | 'sign_in'
  | 'sign_out'
  | 'show_names'
  | 'mask_names'
  | 'read_roster'
  | 'read_record'
  | 'download_roster'
  | 'query'
  | 'download_query';

/** One line of the audit log. It has ids and counts, never a name of an investor, a query or a secret. */
export interface AuditLine {
  readonly actor: Actor;
  readonly action: AuditAction;
  readonly outcome: 'asked' | 'done' | 'refused' | 'failed';
  readonly source?: string | undefined;
  readonly subject?: string | undefined;
  readonly rows?: number | undefined;
  readonly note?: string | undefined;
}

export interface AuditSeen {
  readonly entry: number;
  readonly at: string;
  readonly actor: string;
  readonly role: string;
  readonly action: string;
  readonly outcome: string;
  readonly source: string | null;
  readonly subject: string | null;
  readonly rows_seen: number | null;
  readonly note: string | null;
}

/** What an operator asks for. `source` for all actions but those that resend. */
export interface Wish {
  readonly action: OperatorAction;
  readonly source: string;
  readonly notice: number;
  /** The number of a message about an alert. */
  readonly alert: number;
  /** The number of deletions that the operator confirmed. */
  readonly rows: number;
}

export interface ActionableSource {
  readonly source: string;
  readonly paused_at: string | null;
  readonly awaiting_deletion: number;
  readonly quarantine_open: number;
}

export interface ActionsSeen {
  /** All sources that are followed, or the worst of many. */
  readonly sources: readonly ActionableSource[];
  readonly sources_total: number;
  /** Notices that were given up or are being retried, newest first. */
  readonly notices: readonly {
    readonly notice: number;
    readonly source: string;
    readonly target: string;
    readonly queued_at: string;
    readonly state: string;
    readonly attempts: number;
    readonly last_error: string | null;
  }[];
  /** Messages about alerts that were given up or are being retried, newest first. */
  readonly alerts: readonly {
    readonly alert: number;
    /** The condition that it reports, such as `stale.acme`. */
    readonly key: string;
    readonly target: string;
    readonly queued_at: string;
    readonly state: string;
    readonly attempts: number;
    readonly last_error: string | null;
  }[];
  /** Requests that no daemon has begun yet. */
  readonly requests: readonly {
    readonly source: string;
    readonly kind: string;
    readonly actor: string;
    readonly asked_at: string;
  }[];
}

/** What users of the console change, and the log of what they did. */
export interface Operations {
  /** Returns once the line is stored. Rejects with a `Fault` when it cannot be. */
  audit(line: AuditLine): Promise<void>;
  /** Returns the newest lines below the number `before`, newest first. */
  auditSeen(before: number | null, max: number): Promise<readonly AuditSeen[]>;
  seen(): Promise<ActionsSeen>;
  /** Returns null for a source that is not followed. */
  source(name: string): Promise<ActionableSource | null>;
  /** Returns what happens now, as sentences. Throws `usage` for what cannot be done now. */
  perform(wish: Wish, actor: Actor): Promise<string>;
}
