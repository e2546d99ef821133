import { fieldsOf, textIn, textOrNullIn } from '../client/resource.js';
import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { control, idText, type SandboxCalls } from './sandbox-calls.js';

/** A webhook delivery of a sandbox, without its body and without what the receiver answered: both may contain names. */
export interface Delivery {
  readonly id: string;
  readonly endpoint: string;
  readonly installation: string;
  readonly event: string;
  readonly eventId: string;
  /** `pending`, `delivered`, `dead` or `canceled`. */
  readonly state: string;
  readonly createdAt: string;
  readonly nextAttemptAt: string | null;
  readonly attempts: readonly Attempt[];
}

export interface Attempt {
  readonly at: string;
  readonly status: number | null;
  /** Null when the receiver responded, else `timeout`, `blocked_url`, `tls_error` or `connection_failed`. */
  readonly error: string | null;
  readonly durationMs: number | null;
}

/** Returns whether a control API answers: no real platform has one. Throws `unreachable` when nothing answers. */
export async function hasControlApi(calls: SandboxCalls): Promise<boolean> {
  try {
    await control({ method: 'GET', path: '/clock' }, calls);
    return true;
  } catch (error) {
    if (isFault(error, 'refused')) return false;
    throw error;
  }
}

/** Returns the deliveries of a sandbox, newest first. */
export async function listDeliveries(
  about: { readonly endpoint?: string | undefined; readonly limit: number },
  calls: SandboxCalls,
): Promise<readonly Delivery[]> {
  const endpoint = about.endpoint === undefined ? '' : `&endpoint=${idText(about.endpoint)}`;
  const { data } = await control(
    { method: 'GET', path: `/deliveries?limit=${about.limit}${endpoint}` },
    calls,
  );
  return (Array.isArray(data) ? data : []).map(deliveryOf);
}

const resendTries = 400;
const resendMillis = 50;

/** Makes a sandbox resend a delivery. Returns it after the new attempt, and the attempt; null when none was made within 20 s. */
export async function resendDelivery(
  id: string,
  clock: Clock,
  calls: SandboxCalls,
): Promise<{ readonly delivery: Delivery; readonly attempt: Attempt | null }> {
  const path = `/deliveries/${idText(id)}`;
  const get = async () => deliveryOf(await control({ method: 'GET', path }, calls));
  const before = (await get()).attempts.length;
  await control({ method: 'POST', path: `${path}/resend` }, calls);
  let delivery = await get();
  for (let tries = 0; tries < resendTries && delivery.attempts.length === before; tries += 1) {
    await clock.wait(resendMillis, calls.signal);
    delivery = await get();
  }
  return { delivery, attempt: delivery.attempts[before] ?? null };
}

function deliveryOf(value: unknown): Delivery {
  const fields = fieldsOf(value);
  return {
    id: textIn(fields, 'id'),
    endpoint: textIn(fields, 'endpoint'),
    installation: textIn(fields, 'installation'),
    event: textIn(fields, 'event'),
    eventId: textIn(fields, 'event_id'),
    state: textIn(fields, 'state'),
    createdAt: textIn(fields, 'created_at'),
    nextAttemptAt: textOrNullIn(fields, 'next_attempt_at'),
    attempts: (Array.isArray(fields.attempts) ? fields.attempts : []).map(attemptOf),
  };
}

function attemptOf(value: unknown): Attempt {
  const fields = fieldsOf(value);
  const number = (field: unknown) => (typeof field === 'number' ? field : null);
  return {
    at: textIn(fields, 'at'),
    status: number(fields.status),
    error: textOrNullIn(fields, 'error'),
    durationMs: number(fields.duration_ms),
  };
}
