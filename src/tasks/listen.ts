import { defined } from '../domain/defined.js';
import { isFault } from '../domain/fault.js';
import type { Clock } from '../runtime/clock.js';
import { Lifecycle } from '../runtime/lifecycle.js';
import { type Random, randomText } from '../runtime/random.js';
import { type Forwarder, openForwarder } from './forward.js';
import { type EventIds, type Forwarded, forwarded } from './forwarded.js';
import { inTime } from './in-time.js';
import { control, type SandboxCalls } from './sandbox-calls.js';

export type { Forwarded } from './forwarded.js';

export interface ListenAsk {
  readonly forwardTo: URL;
  /** Every event when empty. */
  readonly events: readonly string[];
}

export interface ListenParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly onForwarded: (forwarded: Forwarded) => void;
  readonly onNote: (text: string) => void;
}

export interface Listening {
  readonly endpoint: string;
  readonly secret: string;
  /** Sends the last delivery once more. Throws when the platform refuses. */
  resend(): Promise<void>;
  /** Resolves when the signal aborts, after everything that was created is removed. */
  readonly ended: Promise<void>;
}

/** How often the sandbox is asked whether it still knows the endpoint: a reset removes it. */
const watchMillis = 1_000;
/** How long creating and removing the endpoint may take, also after the signal. */
const callMillis = 5_000;
/** Events whose forwarded attempts are counted. */
const countedMax = 1_000;
const settleTries = 40;
const settleMillis = 50;

/**
 * Registers a receiver on this machine at a sandbox and forwards its deliveries until the signal aborts. Registers it
 * again, with the same secret, after a reset or restart of the sandbox.
 */
export async function listenToSandbox(
  ask: ListenAsk,
  sandbox: Omit<SandboxCalls, 'signal'>,
  parts: ListenParts,
): Promise<Listening> {
  const { clock, random, signal, onForwarded, onNote } = parts;
  const path = `/listen/${randomText(random, 24)}`;
  const awaited = new Set<string>();
  const times = new Map<string, number>();
  let last: EventIds | null = null;
  const lifecycle = new Lifecycle();

  const forwarder: Forwarder = await openForwarder({
    at: { host: '127.0.0.1', port: 0 },
    path,
    forwardTo: ask.forwardTo,
    clock,
    // Only the sandbox knows the path.
    accepts: () => true,
    onAnswer(arrived, answer) {
      const about = forwarded(arrived, answer, { now: clock.now(), resent: false });
      const key = keyOf(about);
      last = about;
      if (times.size >= countedMax) times.clear();
      times.set(key, (times.get(key) ?? 0) + 1);
      onForwarded({ ...about, resent: awaited.delete(key) });
    },
  });
  lifecycle.add('forwarder', () => forwarder.close());

  const url = `http://127.0.0.1:${forwarder.port}${path}`;
  const endpoint = new OwnEndpoint(sandbox, clock, { url, events: ask.events });
  try {
    await endpoint.register();
  } catch (error) {
    await lifecycle.close();
    throw error;
  }
  lifecycle.add('endpoint', () => endpoint.remove());

  return {
    endpoint: endpoint.id,
    secret: endpoint.secret,
    async resend() {
      if (last === null) return onNote('there is no delivery to resend yet');
      const ids = last;
      const calls = { ...sandbox, signal };
      const delivery = await settledDelivery(calls, clock, {
        endpoint: endpoint.id,
        ids,
        times: times.get(keyOf(ids)) ?? 1,
      });
      if (delivery === null) return onNote('the sandbox no longer has the last delivery');
      awaited.add(keyOf(ids));
      await control({ method: 'POST', path: `/deliveries/${delivery}/resend` }, calls);
    },
    ended: watch(endpoint, parts).finally(() => lifecycle.close()),
  };
}

/** What the sandbox says of the endpoint; `stopped` when the signal cut the request. */
type Seen = 'enabled' | 'disabled' | 'registered_again' | 'away' | 'stopped';

/** The endpoint of this listener at the sandbox. */
class OwnEndpoint {
  id = '';
  secret = '';

  constructor(
    private readonly sandbox: Omit<SandboxCalls, 'signal'>,
    private readonly clock: Clock,
    private readonly wanted: { readonly url: string; readonly events: readonly string[] },
  ) {}

  /** Creates the endpoint, with the secret that it had before, if any. */
  async register(): Promise<void> {
    const { url, events } = this.wanted;
    const secret = this.secret === '' ? undefined : this.secret;
    const body = { url, ...(events.length === 0 ? {} : { events }), ...defined({ secret }) };
    const made = await this.#settled({ method: 'POST', path: '/webhooks', body });
    this.id = String(made.id);
    this.secret = String(made.secret);
  }

  async remove(): Promise<void> {
    try {
      await this.#settled({ method: 'DELETE', path: `/webhooks/${this.id}` });
    } catch (error) {
      // The sandbox ended or was reset, which deletes the endpoint.
      if (!isFault(error, 'unreachable') && !isUnknown(error)) throw error;
    }
  }

  /** Asks the sandbox for the endpoint, and registers it again if the sandbox does not know it. */
  async look(signal: AbortSignal): Promise<Seen> {
    try {
      return (await this.#ask(signal)) ?? (await this.#registerAgain());
    } catch (error) {
      if (isFault(error, 'unreachable')) return 'away';
      if (isFault(error, 'stopped')) return 'stopped';
      throw error;
    }
  }

  /** Returns null if the sandbox does not know the endpoint. */
  async #ask(signal: AbortSignal): Promise<Seen | null> {
    try {
      const call = { method: 'GET', path: `/webhooks/${this.id}` } as const;
      const { enabled } = await control(call, { ...this.sandbox, signal });
      return enabled === false ? 'disabled' : 'enabled';
    } catch (error) {
      if (isUnknown(error)) return null;
      throw error;
    }
  }

  async #registerAgain(): Promise<Seen> {
    await this.register();
    return 'registered_again';
  }

  /** Sends a call that the signal must not cut: an endpoint that was created must be known to be removed. */
  #settled(call: Parameters<typeof control>[0]) {
    return inTime(this.clock, callMillis, (late) => control(call, { ...this.sandbox, signal: late }));
  }
}

/** Looks at the endpoint until the signal aborts, and reports what changes. */
async function watch(endpoint: OwnEndpoint, { clock, signal, onNote }: ListenParts): Promise<void> {
  let before: Seen = 'enabled';
  while (!signal.aborted) {
    await clock.wait(watchMillis, signal);
    if (signal.aborted) return;
    const seen = await endpoint.look(signal);
    for (const note of notesOf(before, seen, endpoint.id)) onNote(note);
    if (seen !== 'stopped') before = seen;
  }
}

function notesOf(before: Seen, seen: Seen, id: string): readonly string[] {
  if (seen === 'stopped') return [];
  if (seen === 'registered_again') return [`the sandbox was reset; ${id} is registered with the same secret`];
  if (seen === 'away') return before === 'away' ? [] : ['the sandbox does not respond; waiting for it'];
  const notes = before === 'away' ? ['the sandbox responds again'] : [];
  if (seen === 'disabled' && before !== 'disabled')
    notes.push(
      'the sandbox disabled the endpoint: every delivery failed for three days. Start again to enable it',
    );
  return notes;
}

const keyOf = ({ id, installation }: EventIds): string => `${id} ${installation}`;

const isUnknown = (error: unknown): boolean => isFault(error, 'refused') && error.about.status === 404;

/**
 * Returns the id of the delivery of an event, or null. The sandbox records an attempt a moment after its answer, and a
 * resend before that would be lost: waits until it has recorded as many attempts as were forwarded.
 */
async function settledDelivery(
  calls: SandboxCalls,
  clock: Clock,
  about: { readonly endpoint: string; readonly ids: EventIds; readonly times: number },
): Promise<string | null> {
  let found: Record<string, unknown> | undefined;
  for (let tries = 0; tries < settleTries && !calls.signal.aborted; tries += 1) {
    const path = `/deliveries?endpoint=${about.endpoint}&limit=1000`;
    const { data } = await control({ method: 'GET', path }, calls);
    found = (Array.isArray(data) ? (data as Record<string, unknown>[]) : []).find(
      ({ event_id: id, installation }) => id === about.ids.id && installation === about.ids.installation,
    );
    const attempts = found?.attempts;
    if (found === undefined || (Array.isArray(attempts) && attempts.length >= about.times)) break;
    await clock.wait(settleMillis, calls.signal);
  }
  return found === undefined ? null : String(found.id);
}
