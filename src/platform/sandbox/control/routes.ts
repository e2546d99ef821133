import { z } from 'zod';
import { type Exchange, ok, type Reply } from '../../http/exchange.js';
import { badParameter } from '../../http/problem.js';
import type { Route } from '../../http/route.js';
import type { MovableClock } from '../clock.js';
import type { ReadyDocument } from '../document.js';
import type { Faults } from '../faults.js';
import { controlPath, type RequestLedger } from '../requests.js';
import { amend, companyOf, deactivate, invest, revoke, withdraw } from './act.js';
import { randomChange } from './churn.js';
import { controlRoute } from './control-route.js';
import { faultBody } from './fault-rules.js';
import { installRoutes } from './install-routes.js';
import { recordPatch } from './record-patch.js';
import {
  changeCompany,
  changeRound,
  companyBody,
  newRoundBody,
  openRound,
  postUpdate,
  roundBody,
  updateBody,
  withdrawUpdate,
} from './rounds.js';
import type { SlicedCalls } from './sliced-calls.js';

export interface Controlled {
  readonly clock: MovableClock;
  readonly faults: Faults;
  readonly requests: RequestLedger;
  readonly calls: SlicedCalls;
  readonly ready: () => ReadyDocument;
  /** Returns to the state of the seed, without faults and without recorded requests. */
  reset(): void;
}

const count = z.int().min(1).max(100_000);
const createBody = z.strictObject({
  company: z.string(),
  count: count.default(1),
  set: recordPatch.default({}),
});
const churnBody = z.strictObject({ changes: count, company: z.string().optional() });
/** About a century. `now` moves the clock back, too. */
const seconds = z.number().min(0).max(3_200_000_000);
/** The last moment whose text has a year of four digits: texts of times are compared. */
const lastMillis = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const clockBody = z.union([
  z.strictObject({ advanceSeconds: seconds }),
  z.strictObject({ now: z.iso.datetime({ offset: true }) }),
]);

export function controlRoutes(controlled: Controlled): readonly Route[] {
  const { clock, faults, requests } = controlled;
  const at = (path: string) => `${controlPath}${path}`;
  return [
    controlRoute('GET', controlPath, null, () => ok(controlled.ready())),
    controlRoute('POST', at('/investments'), createBody, (exchange, body) =>
      actingInSlices(controlled, body.count, () => {
        const company = companyOf(exchange.services, body.company);
        return (now) => invest(exchange.services, company, body.set, now);
      }),
    ),
    controlRoute('PATCH', at('/investments/{id}'), recordPatch, (exchange, body) =>
      acting(exchange, () => {
        const id = exchange.params.id ?? '';
        amend(exchange.services, id, body, exchange.now);
        return [id];
      }),
    ),
    controlRoute('DELETE', at('/investments/{id}'), null, (exchange) =>
      acting(exchange, () => {
        const id = exchange.params.id ?? '';
        withdraw(exchange.services, id, exchange.now);
        return [id];
      }),
    ),
    controlRoute('POST', at('/offerings'), newRoundBody, (exchange, body) =>
      acting(exchange, () => [
        openRound(exchange.services, companyOf(exchange.services, body.company), body, exchange.now),
      ]),
    ),
    controlRoute('PATCH', at('/offerings/{id}'), roundBody, (exchange, body) =>
      acting(exchange, () => {
        const id = exchange.params.id ?? '';
        changeRound(exchange.services, id, body, exchange.now);
        return [id];
      }),
    ),
    controlRoute('PATCH', at('/companies/{id}'), companyBody, (exchange, body) =>
      acting(exchange, () => {
        const company = companyOf(exchange.services, exchange.params.id ?? '');
        changeCompany(exchange.services, company, body);
        return [company.id];
      }),
    ),
    controlRoute('POST', at('/companies/{id}/updates'), updateBody, (exchange, body) =>
      acting(exchange, () => {
        const company = companyOf(exchange.services, exchange.params.id ?? '');
        return [postUpdate(exchange.services, company, body, exchange.now)];
      }),
    ),
    controlRoute('DELETE', at('/updates/{id}'), null, (exchange) =>
      acting(exchange, () => {
        const id = exchange.params.id ?? '';
        withdrawUpdate(exchange.services, id);
        return [id];
      }),
    ),
    controlRoute('POST', at('/churn'), churnBody, (exchange, body) =>
      actingInSlices(controlled, body.changes, () => {
        const company = body.company === undefined ? null : companyOf(exchange.services, body.company);
        return randomChange(exchange.services, company);
      }),
    ),
    controlRoute('POST', at('/users/{id}/deactivate'), null, (exchange) =>
      acting(exchange, () => deactivate(exchange.services, exchange.params.id ?? '', exchange.now)),
    ),
    controlRoute('POST', at('/installations/{id}/revoke'), null, (exchange) =>
      acting(exchange, () => {
        const id = exchange.params.id ?? '';
        revoke(exchange.services, id, exchange.now);
        return [id];
      }),
    ),
    ...installRoutes(controlled.ready),
    controlRoute('GET', at('/clock'), null, () => ok(timeOf(clock))),
    controlRoute('POST', at('/clock'), clockBody, (_exchange, body) => {
      const by = 'now' in body ? Date.parse(body.now) - clock.now() : Math.round(body.advanceSeconds * 1000);
      const field = 'now' in body ? 'now' : 'advanceSeconds';
      if (clock.now() + by > lastMillis) throw badParameter(field, 'The clock cannot go past the year 9999.');
      clock.advance(by);
      return ok(timeOf(clock));
    }),
    controlRoute('POST', at('/faults'), faultBody, (_exchange, body) => {
      const rules = Array.isArray(body) ? body : [body];
      faults.add(rules);
      return ok({ added: rules.length });
    }),
    controlRoute('DELETE', at('/faults'), null, () => {
      faults.clear();
      return ok({});
    }),
    controlRoute('GET', at('/requests'), null, (exchange) =>
      ok({ requests: requests.since(sinceOf(exchange)) }),
    ),
    controlRoute('POST', at('/reset'), null, () => {
      controlled.reset();
      return ok(controlled.ready());
    }),
  ];
}

function acting(exchange: Exchange, act: () => readonly string[]): Reply {
  return ok({ ids: exchange.services.state.transaction(act)() });
}

async function actingInSlices(
  { calls }: Controlled,
  count: number,
  begin: () => (now: number) => string,
): Promise<Reply> {
  return ok({ ids: await calls.run(count, begin()) });
}

const timeOf = (clock: MovableClock) => ({ now: new Date(clock.now()).toISOString() });

/** Parses `since`: a ledger number or a time. Without it, all requests are returned. */
function sinceOf(exchange: Exchange): { readonly seq: number } | { readonly time: string } {
  const since = exchange.query.get('since');
  if (since === null) return { seq: 0 };
  if (/^\d{1,15}$/.test(since)) return { seq: Number(since) };
  const time = Date.parse(since);
  if (Number.isNaN(time))
    throw badParameter('since', 'since must be a number of the ledger or an ISO 8601 time.');
  return { time: new Date(time).toISOString() };
}
