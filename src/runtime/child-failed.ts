import { defined } from '../domain/defined.js';
import { Fault, type FaultCode, isFault } from '../domain/fault.js';

/** How a child process of our own says that its work failed. */
export interface ChildFailed {
  readonly kind: 'failed';
  readonly code: FaultCode;
  readonly message: string;
  readonly hint: string | null;
  /** Of an error that nothing expected: where it was thrown. */
  readonly stack: string | null;
}

/** `unexpected` is the message of an error that is no `Fault`, because that of another library may quote data. */
export function childFailed(error: unknown, unexpected: string): ChildFailed {
  if (isFault(error)) {
    const { code, message, about } = error;
    return { kind: 'failed', code, message, hint: about.hint ?? null, stack: null };
  }
  const stack = error instanceof Error ? (error.stack ?? null) : String(error);
  return { kind: 'failed', code: 'internal', message: unexpected, hint: null, stack };
}

/** Returns the failure as the parent throws it. */
export function faultOfChild({ code, message, hint, stack }: ChildFailed): Fault {
  const cause = stack === null ? undefined : Object.assign(new Error('in a child process'), { stack });
  return new Fault(code, message, defined({ hint: hint ?? undefined, cause }));
}
