import Sqlite from 'better-sqlite3';
import { Fault } from '../../../domain/fault.js';
import type { Failure } from './reading-messages.js';

/** Serializes an error for the parent process. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Sqlite.SqliteError) return { of: 'sqlite', code: error.code, message: error.message };
  if (error instanceof Fault)
    return { of: 'fault', code: error.code, message: error.message, hint: error.about.hint ?? null };
  return { of: 'defect', message: String(error) };
}

/** Returns the error that a child process reported. */
export function errorOf(failure: Failure): Error {
  switch (failure.of) {
    case 'sqlite':
      return new Sqlite.SqliteError(failure.message, failure.code);
    case 'fault':
      return new Fault(failure.code, failure.message, failure.hint === null ? {} : { hint: failure.hint });
    case 'defect':
      return new Error(failure.message);
  }
}
