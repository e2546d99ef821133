import { afterEach, expect, test } from 'vitest';
import { type Delivery, settle } from '../../../src/platform/webhooks/deliveries.js';
import { enableEndpoint, endpointByNo, removeEndpoint } from '../../../src/platform/webhooks/endpoints.js';
import { enqueue } from '../../../src/platform/webhooks/enqueue.js';
import { resendDelivery } from '../../../src/platform/webhooks/portal.js';
import { type Random, seededRandom } from '../../../src/runtime/random.js';
import {
  day,
  hour,
  minute,
  second,
  startWebhookPlatform,
  type WebhookPlatform,
  worldStart,
} from './webhook-platform.js';

/**
 * An independent model of the delivery rules: streaks are computed from the whole log of attempts, windows from the list
 * of sends. The test runs days of random outages, resends, re-enables and deletions and compares the database with the
 * model at every step.
 */
interface ModelDelivery {
  readonly id: string;
  state: 'pending' | 'delivered' | 'dead' | 'canceled';
  sentAt: number;
  failures: number;
}

interface ModelEndpoint {
  readonly no: number;
  readonly deliveries: Map<string, ModelDelivery>;
  /** Attempts since the endpoint was created or last re-enabled. */
  log: { readonly at: number; readonly ok: boolean }[];
  enabled: boolean;
  removed: boolean;
  up: boolean;
  turnsAt: number;
}

const planned = [5 * second, minute, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 12 * hour];

const open: WebhookPlatform[] = [];
afterEach(async () => {
  for (const world of open.splice(0)) await world.close();
});

test('DELIV-14 DELIV-17 the delivery state machine matches its model during random outages', async () => {
  let endpointDays = 0;
  const seen = { dead: 0, delivered: 0, canceled: 0, disabled: 0, resent: 0 };
  for (const seed of [1, 2, 3, 4]) {
    const world = await startWebhookPlatform({ started: false });
    open.push(world);
    endpointDays += run(world, seededRandom(seed), 12, 60, seen);
  }
  expect(endpointDays).toBe(4 * 12 * 60);
  // The random walk covered every kind of step.
  for (const [name, count] of Object.entries(seen)) expect([name, count > 20]).toEqual([name, true]);
});

function run(
  world: WebhookPlatform,
  random: Random,
  count: number,
  days: number,
  seen: Record<string, number>,
): number {
  const { state } = world.services;
  const company = world.company('Acme');
  world.install({ on: 'company', targetNo: company });
  const between = (low: number, high: number) => low + Math.floor(random.fraction() * (high - low));
  const make = (): ModelEndpoint => {
    const [row] = world.rows<{ no: number }>(
      `INSERT INTO webhook_endpoints (id, application_no, mode, url, created_at)
       VALUES (?, ?, 'live', 'https://hooks.example.com', 0) RETURNING no`,
      `whe_${random.bytes(6).toString('hex')}`,
      world.app,
    );
    const no = row?.no ?? 0;
    world.rows(`INSERT INTO webhook_subscriptions VALUES ('investment.changed', ?, 0) RETURNING 1`, no);
    return { no, deliveries: new Map(), log: [], enabled: true, removed: false, up: true, turnsAt: 0 };
  };
  const endpoints = Array.from({ length: count }, make);
  const everyone = new Map(endpoints.map((it) => [it.no, it]));
  let lastNo = 0;
  const end = worldStart + days * day;
  let nextEvent = worldStart;
  let nextWhim = worldStart + hour;

  for (let steps = 0; ; steps++) {
    // A state machine that makes no progress fails here instead of looping forever.
    expect(steps).toBeLessThan(20_000);
    const [due] = world.rows<Delivery>(
      `SELECT * FROM webhook_deliveries WHERE state = 'pending' ORDER BY next_at, no LIMIT 1`,
    );
    const at = Math.min(due?.next_at ?? Number.POSITIVE_INFINITY, nextEvent, nextWhim);
    if (at >= end) break;
    world.clock.advance(Math.max(0, at - world.clock.now()));
    const now = world.clock.now();
    if (at === nextEvent) {
      nextEvent += between(minute, 30 * hour);
      emit(now);
    } else if (at === nextWhim) {
      nextWhim += between(hour, 20 * hour);
      whim(now);
    } else if (due !== undefined) attempt(due, now);
  }
  return count * days;

  function emit(now: number): void {
    enqueue(world.services, {
      name: 'investment.changed',
      realm: 'live',
      at: now,
      companyNo: company,
      syndicateNo: null,
      installationNo: null,
      dataFor: () => ({}),
    });
    const made = world.rows<{ no: number; id: string; endpoint_no: number }>(
      'SELECT no, id, endpoint_no FROM webhook_deliveries WHERE no > ?',
      lastNo,
    );
    expect(made.map((it) => it.endpoint_no).sort(ascending)).toEqual(
      endpoints
        .filter((it) => it.enabled)
        .map((it) => it.no)
        .sort(ascending),
    );
    for (const { no, id, endpoint_no } of made) {
      lastNo = no;
      modelOf(endpoint_no).deliveries.set(id, { id, state: 'pending', sentAt: now, failures: 0 });
    }
  }

  function modelOf(endpointNo: number): ModelEndpoint {
    const model = everyone.get(endpointNo);
    if (model === undefined) throw new Error('unknown endpoint');
    return model;
  }

  function attempt(due: Delivery, now: number): void {
    const model = modelOf(due.endpoint_no);
    const delivery = model.deliveries.get(due.id);
    if (delivery === undefined) throw new Error('unknown delivery');
    if (now >= model.turnsAt) {
      model.up = random.fraction() < 0.45;
      model.turnsAt = now + between(hour, 6 * day);
    }
    const ok = model.up;
    settle(
      state,
      random,
      due,
      ok
        ? { status: 200, error: null, durationMs: 1, response: '' }
        : { status: null, error: 'timeout', durationMs: 15_000, response: '' },
      now,
    );
    model.log.push({ at: now, ok });
    if (ok) {
      delivery.state = 'delivered';
      seen.delivered = (seen.delivered ?? 0) + 1;
    } else {
      delivery.failures++;
      const windowEnd = delivery.sentAt + 72 * hour;
      if (now >= windowEnd) {
        delivery.state = 'dead';
        seen.dead = (seen.dead ?? 0) + 1;
      } else if (!overThreeDays(model.log)) {
        const plan = planned[Math.min(delivery.failures, planned.length) - 1] ?? 0;
        const [row] = world.rows<{ next_at: number }>(
          'SELECT next_at FROM webhook_deliveries WHERE id = ?',
          due.id,
        );
        const next = row?.next_at ?? 0;
        const inPlan = next >= now + plan * 0.8 - 1 && next <= now + plan * 1.2 + 1;
        expect([due.id, next === windowEnd || inPlan, next <= windowEnd]).toEqual([due.id, true, true]);
      }
      if (overThreeDays(model.log)) {
        model.enabled = false;
        seen.disabled = (seen.disabled ?? 0) + 1;
        for (const other of model.deliveries.values()) if (other.state === 'pending') other.state = 'dead';
      }
    }
    agreeOnHealth(model);
  }

  function whim(now: number): void {
    const index = between(0, endpoints.length);
    const model = endpoints[index];
    if (model === undefined) return;
    agree(model);
    const settled = [...model.deliveries.values()].filter((it) => it.state !== 'pending');
    const one = settled[between(0, settled.length)];
    if (!model.enabled && random.fraction() < 0.7) {
      enableEndpoint(state, model.no);
      model.enabled = true;
      model.log = [];
    } else if (one !== undefined && random.fraction() < 0.8) {
      if (one.state === 'canceled' || !model.enabled) {
        expect(() => resendDelivery(state, one.id, now)).toThrow();
      } else {
        resendDelivery(state, one.id, now);
        Object.assign(one, { state: 'pending', sentAt: now, failures: 0 });
        seen.resent = (seen.resent ?? 0) + 1;
      }
    } else if (random.fraction() < 0.5) {
      state.transaction(() => removeEndpoint(state, model.no, now))();
      model.removed = true;
      for (const it of model.deliveries.values()) {
        if (it.state === 'delivered') continue;
        it.state = 'canceled';
        seen.canceled = (seen.canceled ?? 0) + 1;
      }
      const next = make();
      endpoints[index] = next;
      everyone.set(next.no, next);
    }
    agree(model);
  }

  /** History older than thirty days may be deleted. Stored rows must match, and no pending delivery may be missing. */
  function agree(model: ModelEndpoint): void {
    const rows = world.rows<{ id: string; state: string }>(
      'SELECT id, state FROM webhook_deliveries WHERE endpoint_no = ? ORDER BY no',
      model.no,
    );
    const stored = new Set(rows.map((row) => row.id));
    expect(rows).toEqual(rows.map(({ id }) => ({ id, state: model.deliveries.get(id)?.state })));
    for (const it of [...model.deliveries.values()]) {
      if (stored.has(it.id)) continue;
      expect(it.state).not.toBe('pending');
      model.deliveries.delete(it.id);
    }
    if (model.removed) expect(endpointByNo(state, model.no)).toBeUndefined();
    else agreeOnHealth(model);
  }

  function agreeOnHealth(model: ModelEndpoint): void {
    const endpoint = endpointByNo(state, model.no);
    const since = trailingFailures(model.log)[0]?.at ?? null;
    expect([endpoint?.enabled, endpoint?.failing_since]).toEqual([model.enabled ? 1 : 0, since]);
  }
}

const ascending = (a: number, b: number) => a - b;
const trailingFailures = (log: ModelEndpoint['log']) => log.slice(log.findLastIndex((it) => it.ok) + 1);

function overThreeDays(log: ModelEndpoint['log']): boolean {
  const streak = trailingFailures(log);
  const first = streak[0];
  const last = streak.at(-1);
  return first !== undefined && last !== undefined && last.at - first.at >= 72 * hour;
}
