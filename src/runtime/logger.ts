/**
 * The fields that may be logged. The list is closed on purpose: identity and secrets cannot reach a log line because
 * no field exists for them. `daemon/logging.ts` drops every other field.
 */
export interface LogFields {
  readonly component?: string;
  readonly source?: string;
  readonly code?: string;
  readonly type?: string;
  readonly hint?: string;
  readonly status?: number;
  readonly requestId?: string;
  readonly method?: string;
  readonly path?: string;
  readonly event?: string;
  readonly eventId?: string;
  readonly installation?: string;
  readonly rule?: string;
  readonly reason?: string;
  readonly application?: string;
  readonly investment?: string;
  readonly endpoint?: string;
  readonly trigger?: string;
  readonly mode?: string;
  readonly state?: string;
  readonly outcome?: string;
  readonly page?: number;
  readonly pages?: number;
  readonly rows?: number;
  readonly added?: number;
  readonly changed?: number;
  readonly removed?: number;
  readonly quarantined?: number;
  readonly attempt?: number;
  readonly count?: number;
  readonly tookMs?: number;
  readonly waitMs?: number;
  readonly until?: string;
  readonly url?: string;
  readonly file?: string;
  readonly version?: string;
  readonly pid?: number;
  readonly signal?: string;
  /** Only the class, code and stack frames of an error are logged; messages of other libraries may quote data. */
  readonly error?: unknown;
}

/** The message is constant, values are fields. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  child(fields: LogFields): Logger;
}

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};
