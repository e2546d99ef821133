import { expect } from 'vitest';
import type { Operation } from '../../src/platform/contract/operation.js';
import { mintToken } from '../../src/platform/oauth/mint.js';
import { all, one, run } from '../../src/platform/state/statements.js';
import { makeClient, type TestClient, userNo, userToken } from './credentials.js';
import type { Answered, RunningPlatform } from './running-platform.js';

/** Names from the seeded directory and credentials of each kind, for tests of what the catalog shows. */
export const ida = 'ida@people.example';
export const ivan = 'ivan@people.example';

export const publishableKey = (world: RunningPlatform): string => world.ready.apps[0]?.clientId ?? '';

export function personToken(world: RunningPlatform, email: string, ...scopes: readonly string[]): string {
  return userToken(world, makeClient(world, { scopes: [...scopes] }), email, scopes);
}

export function applicationToken(world: RunningPlatform, client: TestClient): string {
  const { applicationNo, realm } = client;
  const wish = { kind: 'application', realm, applicationNo, scopes: ['read:public'] } as const;
  return mintToken(world.services, wish, world.services.clock.now()).token;
}

interface Named {
  readonly no: number;
  readonly id: string;
}

export function companyOf(world: RunningPlatform, slug: string): Named {
  const row = one<Named>(world.services.state, 'SELECT no, id FROM companies WHERE slug = ?', [slug]);
  if (row === undefined) throw new Error(`no company ${slug}`);
  return row;
}

export const roundsOf = (world: RunningPlatform, slug: string): readonly Named[] =>
  all<Named>(world.services.state, 'SELECT no, id FROM offerings WHERE company_no = ? ORDER BY no', [
    companyOf(world, slug).no,
  ]);

export function roundOf(world: RunningPlatform, slug: string, index = 0): Named {
  const round = roundsOf(world, slug)[index];
  if (round === undefined) throw new Error(`${slug} has no round ${index}`);
  return round;
}

export interface PaidInvestment {
  readonly email: string;
  readonly slug: string;
  readonly index?: number;
  readonly cents?: number;
}

let invested = 0;

/** Inserts a paid investment row, which the next read publishes. Returns its id. */
export function invest(
  world: RunningPlatform,
  { email, slug, index = 0, cents = 100_000 }: PaidInvestment,
): string {
  const { state, clock } = world.services;
  invested += 1;
  const id = `inv_bought${invested}`;
  const { no } = run(
    state,
    `INSERT INTO investments (id, company_no, offering_no, investor_no, status, group_label, committed_cents, applied_at)
     VALUES (?, ?, ?, ?, 'active', 'CONFIRMED', ?, ?)`,
    [
      id,
      companyOf(world, slug).no,
      roundOf(world, slug, index).no,
      userNo(world, email),
      cents,
      clock.now() + invested,
    ],
  );
  run(state, `INSERT INTO publish_queue (investment_no, reason, due_at) VALUES (?, 'changed', 0)`, [no]);
  return id;
}

/** Asserts a 200 response of exactly the declared shape: no undeclared field, no declared field missing. */
export function conforms(operation: Operation, answer: Answered): Answered {
  const schema = operation.responses[200]?.schema;
  if (schema === undefined) throw new Error(`${operation.id} declares no response`);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  expect(schema.parse(answer.body)).toEqual(answer.body);
  return answer;
}

/** Returns all items of a list by following its cursors. */
// biome-ignore lint/suspicious/noExplicitAny: the shape of an answer is what a test finds out
export async function follow(world: RunningPlatform, path: string, token: string): Promise<any[]> {
  const items = [];
  const seen = new Set<string>();
  for (let cursor = ''; seen.size < 100; ) {
    const more = cursor === '' ? '' : `${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`;
    const page = await world.get(`${path}${more}`, { token });
    if (page.status !== 200) throw new Error(JSON.stringify(page.body));
    expect(page.body.meta.page_count).toBe(page.body.data.length);
    items.push(...page.body.data);
    expect(page.body.meta.has_more).toBe(page.body.meta.next_cursor !== null);
    if (!page.body.meta.has_more) return items;
    cursor = page.body.meta.next_cursor;
    expect(seen.has(cursor)).toBe(false);
    seen.add(cursor);
  }
  throw new Error('the list does not end');
}

export const errorOf = (answer: Answered) => [answer.status, answer.body.error?.type] as const;
