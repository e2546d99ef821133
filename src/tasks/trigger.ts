import { defined } from '../domain/defined.js';
import { Fault } from '../domain/fault.js';
import { fewOf } from '../domain/one-of.js';
import { answered, type ControlCall, control, idText, type SandboxCalls } from './sandbox-calls.js';

export interface TriggerAsk {
  /** An investment, a user or an installation. */
  readonly id?: string | undefined;
  readonly company?: string | undefined;
  readonly set?: Readonly<Record<string, unknown>> | undefined;
  readonly count: number;
  readonly advanceSeconds?: number | undefined;
  readonly now?: string | undefined;
}

export const triggers = {
  'investment.created': 'new investments in --company',
  'investment.changed':
    'changes ID, or --count investments of --company, to what --set says; anything without it',
  'investment.canceled': 'cancels ID, or --count investments of --company',
  'investment.withdrawn': 'takes ID, or --count investments of --company, out of the feed: a tombstone',
  churn: '--changes random creates, changes and withdrawals',
  clock: "moves the sandbox's time: --advance 3d, or --now",
  deactivate: 'deactivates the user ID',
  revoke: 'revokes the installation ID',
  reset: 'back to the seed',
} as const;

export type TriggerName = keyof typeof triggers;

export const isTrigger = (name: string): name is TriggerName => Object.hasOwn(triggers, name);

/** Triggers the event. Returns the last response of the sandbox and the ids of everything it touched. */
export async function trigger(name: TriggerName, ask: TriggerAsk, calls: SandboxCalls) {
  const answers: Record<string, unknown>[] = [];
  for (const happening of await happenings(name, ask, calls)) answers.push(await control(happening, calls));
  const ids = answers.flatMap(({ ids: touched }) => (Array.isArray(touched) ? (touched as string[]) : []));
  return { event: name, ids, answer: answers.at(-1) ?? {} };
}

async function happenings(name: TriggerName, ask: TriggerAsk, calls: SandboxCalls): Promise<ControlCall[]> {
  const { company, count, set } = ask;
  switch (name) {
    case 'investment.created':
      return [
        post('/investments', { company: required(company, '--company co_…', companyHint), count, set }),
      ];
    case 'investment.changed':
      if (set === undefined && ask.id === undefined) return [post('/churn', { changes: count, company })];
      return patches(await chosen(ask, calls), required(set, '--set, such as --set status=canceled'));
    case 'investment.canceled':
      return patches(await chosen(ask, calls), { ...set, status: 'canceled' });
    case 'investment.withdrawn':
      return (await chosen(ask, calls)).map((id) => ({ method: 'DELETE', path: `/investments/${id}` }));
    case 'churn':
      return [post('/churn', { changes: count, company })];
    case 'clock': {
      const { advanceSeconds, now } = ask;
      if (now !== undefined && advanceSeconds !== undefined)
        throw new Fault('usage', '--advance and --now: give one of them');
      if (now !== undefined) return [post('/clock', { now })];
      return [post('/clock', { advanceSeconds: required(advanceSeconds, '--advance 3d, or --now') })];
    }
    case 'deactivate':
      return [post(`/users/${idText(required(ask.id, 'the user, usr_…'))}/deactivate`)];
    case 'revoke':
      return [post(`/installations/${idText(required(ask.id, 'the installation, inst_…'))}/revoke`)];
    case 'reset':
      return [post('/reset')];
  }
}

const post = (path: string, body?: unknown): ControlCall => ({ method: 'POST', path, body });

const patches = (ids: readonly string[], body: unknown): ControlCall[] =>
  ids.map((id) => ({ method: 'PATCH', path: `/investments/${id}`, body }));

const companyHint = '--company with one of companies[].id, as `rosterd sandbox` printed them';

function required<Value>(value: Value | undefined, what: string, hint?: string): Value {
  if (value !== undefined) return value;
  throw new Fault('usage', `this needs ${what}`, defined({ hint }));
}

/** Returns the named investment, or the first ones of a company that can still change. */
async function chosen(ask: TriggerAsk, calls: SandboxCalls): Promise<readonly string[]> {
  if (ask.id !== undefined) return [idText(ask.id)];
  const company = required(ask.company, 'an investment, inv_…, or --company co_…', companyHint);
  const ready = await control({ method: 'GET', path: '' }, calls);
  const companies = Array.isArray(ready.companies) ? (ready.companies as Record<string, unknown>[]) : [];
  const token = companies.find(({ id }) => id === company)?.token;
  if (typeof token !== 'string') {
    throw new Fault('usage', `the sandbox has no company ${company}`, {
      hint: `one of: ${fewOf(companies.map(({ id }) => String(id)))}`,
    });
  }
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const query = new URLSearchParams({ company_id: company, per_page: '100', ...(cursor && { cursor }) });
    const headers = { authorization: `Bearer ${token}` };
    const page = await answered(calls, `/investments?${query}`, { method: 'GET', headers });
    const data = Array.isArray(page.data) ? (page.data as Record<string, unknown>[]) : [];
    const open = data.filter(canChange);
    ids.push(...open.map(({ id }) => String(id)));
    const meta = Object(page.meta) as { has_more?: unknown; next_cursor?: unknown };
    cursor = meta.has_more === true && typeof meta.next_cursor === 'string' ? meta.next_cursor : undefined;
    // The loop ends because every page has a new cursor and the sandbox has finitely many records.
  } while (cursor !== undefined && ids.length < ask.count);
  if (ids.length >= ask.count) return ids.slice(0, ask.count);
  throw new Fault('usage', `${company} has ${ids.length} investments that could change, not ${ask.count}`);
}

/** A record without a status is a tombstone; a canceled or converted one cannot change any more. */
const canChange = ({ status }: Record<string, unknown>): boolean =>
  typeof status === 'string' && status !== 'canceled' && status !== 'converted';
