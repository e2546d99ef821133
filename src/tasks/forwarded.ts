import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { Arrived, LocalAnswer } from './forward.js';

/** What `rosterd listen` shows of a delivery: ids only. Bodies may contain names and are never shown. */
export interface Forwarded {
  readonly at: Instant;
  readonly event: string | null;
  readonly id: string | null;
  readonly installation: string | null;
  /** The status of the local answer; null when there was none. */
  readonly status: number | null;
  readonly error: 'connection_failed' | 'timeout' | null;
  readonly ms: number;
  readonly resent: boolean;
}

export type EventIds = Pick<Forwarded, 'event' | 'id' | 'installation'>;

/** Returns the ids in a body; null for each that is missing or has another form. */
function idsIn(body: Buffer): EventIds {
  let envelope: unknown;
  try {
    envelope = JSON.parse(body.toString('utf8'));
  } catch {
    envelope = null;
  }
  const { event, id, installation } = Object(envelope) as Record<string, unknown>;
  const bound = Object(installation) as { readonly id?: unknown };
  return {
    event: textIn(event, /^[a-z_]{1,40}\.[a-z_]{1,40}$/),
    id: textIn(id, /^evt_\w{1,100}$/),
    installation: textIn(bound.id, /^inst_\w{1,100}$/),
  };
}

export function forwarded(
  { body }: Arrived,
  { status, error, ms }: LocalAnswer,
  { now, resent }: { readonly now: number; readonly resent: boolean },
): Forwarded {
  return { at: instantFromMillis(now), ...idsIn(body), status, error, ms, resent };
}

const textIn = (value: unknown, form: RegExp): string | null =>
  typeof value === 'string' && form.test(value) ? value : null;
