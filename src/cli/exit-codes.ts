import type { FaultCode } from '../domain/fault.js';

export const exitCodes = {
  done: 0,
  failed: 1,
  /** Usage or configuration. */
  usage: 2,
  /** A human must re-authorize. */
  reauthorize: 3,
  /** `verify` found differences. */
  drift: 4,
  /** Stopped before the end by a rate limit or a signal. */
  stopped: 5,
} as const;

/** The meanings printed in the help and the manual page. */
export const exitCodeMeanings: readonly (readonly [code: number, meaning: string])[] = [
  [exitCodes.done, 'done'],
  [exitCodes.failed, 'failed'],
  [exitCodes.usage, 'usage or configuration'],
  [exitCodes.reauthorize, 'a human must re-authorize'],
  [exitCodes.drift, 'drift found'],
  [exitCodes.stopped, 'stopped before the end'],
];

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitCodeOfFault: Readonly<Record<FaultCode, ExitCode>> = {
  rate_limited: exitCodes.stopped,
  unreachable: exitCodes.failed,
  platform_error: exitCodes.failed,
  contract_broken: exitCodes.failed,
  cursor_expired: exitCodes.failed,
  unauthorized: exitCodes.reauthorize,
  reauthorize: exitCodes.reauthorize,
  forbidden: exitCodes.reauthorize,
  refused: exitCodes.failed,
  filters_changed: exitCodes.failed,
  lease_lost: exitCodes.failed,
  database_busy: exitCodes.failed,
  database_full: exitCodes.failed,
  database_unusable: exitCodes.failed,
  out_of_descriptors: exitCodes.failed,
  usage: exitCodes.usage,
  stopped: exitCodes.stopped,
  internal: exitCodes.failed,
};

/** The most severe code first. */
const gravity: readonly ExitCode[] = [
  exitCodes.reauthorize,
  exitCodes.usage,
  exitCodes.failed,
  exitCodes.drift,
  exitCodes.stopped,
];

export function worstOf(codes: readonly ExitCode[]): ExitCode {
  return gravity.find((code) => codes.includes(code)) ?? exitCodes.done;
}
