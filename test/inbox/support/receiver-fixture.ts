import { afterEach, beforeEach, expect } from 'vitest';
import type { SourceName } from '../../../src/domain/ids.js';
import { createReceiver, type Receiver, type ReceiverParts } from '../../../src/inbox/receiver.js';
import { systemClock } from '../../../src/runtime/clock.js';
import { silentLogger } from '../../../src/runtime/logger.js';
import { MemoryInbox } from './memory-inbox.js';
import { secret, signed } from './raw-http.js';

export const acme = 'acme' as SourceName;

export const seconds = () => Math.floor(Date.now() / 1000);

export const eventBody = (over: Readonly<Record<string, unknown>> = {}) =>
  JSON.stringify({
    id: 'evt_1',
    event: 'investment.changed',
    created_at: '2026-10-20T09:30:00Z',
    mode: 'live',
    installation: { id: 'inst_1', target: null, test: false },
    data: { id: 'inv_1', visible: true, company: 'co_1', observed_at: '2026-10-20T09:29:58Z' },
    ...over,
  });

export interface Sent {
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signature?: string | null;
  readonly path?: string;
  readonly method?: string;
  readonly signal?: AbortSignal;
}

/** Starts a receiver before each test of the file that calls it. Installation `inst_1` belongs to `acme`. */
export function receiverFixture() {
  const open: Receiver[] = [];
  const its = {
    inbox: new MemoryInbox(),
    receiver: undefined as unknown as Receiver,
    port: 0,
    base: '',
    nudged: [] as SourceName[][],
    told: [] as string[],
    secrets: [secret],

    /** Builds another receiver, which is the one of the test from then on. */
    async build(
      over: Partial<ReceiverParts> = {},
    ): Promise<{ readonly host: string; readonly port: number }> {
      its.receiver = createReceiver({
        inbox: its.inbox,
        clock: systemClock,
        logger: silentLogger,
        path: '/webhooks',
        signatureHeader: 'Service-Signature',
        secrets: () => its.secrets,
        resolveSources: ({ installation }) => (installation === 'inst_1' ? [acme] : []),
        onAccepted: ({ event }, sources) => {
          its.told.push(`${event} with ${its.inbox.rows.length} stored`);
          its.nudged.push([...sources]);
        },
        ...over,
      });
      open.push(its.receiver);
      const address = await its.receiver.listen(0);
      its.port = address.port;
      its.base = `http://127.0.0.1:${address.port}`;
      return address;
    },

    async deliver({
      body = eventBody(),
      headers = {},
      signature,
      path = '/webhooks',
      method = 'POST',
      signal,
    }: Sent = {}) {
      const header = signature === undefined ? signed(body, seconds()) : signature;
      const response = await fetch(its.base + path, {
        method,
        signal: signal ?? null,
        headers: {
          'content-type': 'application/json',
          ...(header === null ? {} : { 'service-signature': header }),
          ...headers,
        },
        ...(method === 'GET' || method === 'HEAD' ? {} : { body }),
      });
      return { status: response.status, text: await response.text(), headers: response.headers };
    },

    nothingHappened(): void {
      expect(its.inbox.rows).toEqual([]);
      expect(its.told).toEqual([]);
    },
  };

  beforeEach(async () => {
    Object.assign(its, { inbox: new MemoryInbox(), nudged: [], told: [], secrets: [secret] });
    await its.build();
  });
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
  });
  return its;
}
