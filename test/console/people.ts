import { expect, onTestFinished } from 'vitest';
import type { ConsoleAuth, Credential } from '../../src/console/guard/authenticator.js';
import type { ProxySignIn } from '../../src/console/guard/proxy-users.js';
import { type ConsoleOptions, type RunningConsole, startConsole, Visitor } from './running-console.js';

export const secrets = {
  viewer: 'the-token-of-vera-1234',
  analyst: 'the-token-of-ana-12345',
  operator: 'the-token-of-oleg-1234',
} as const;
export type Named = keyof typeof secrets;

export const credential = (role: Named): Credential => ({
  name: `token:${role}`,
  role,
  secret: async () => secrets[role],
});

export const people: ConsoleAuth = {
  tokens: [credential('viewer'), credential('analyst'), credential('operator')],
  basic: null,
  proxy: null,
};

export const proxyOf = (set: Partial<ProxySignIn>): ConsoleAuth => ({
  ...people,
  proxy: {
    addresses: ['127.0.0.1'],
    header: 'X-Forwarded-User',
    users: [{ name: 'oleg@example.com', role: 'operator' }],
    role: 'viewer',
    ...set,
  },
});

export async function worldFor(wish: ConsoleOptions): Promise<RunningConsole> {
  const world = await startConsole({ rows: 1, ...wish });
  onTestFinished(() => world.close());
  return world;
}

export async function signedIn({ port }: RunningConsole, who: Named): Promise<Visitor> {
  const visitor = new Visitor(port);
  const answer = await visitor.post('/sign-in', { token: secrets[who], to: '/roster' });
  expect(answer.status).toBe(200);
  return visitor;
}

export const bearer = (who: Named) => ({ authorization: `Bearer ${secrets[who]}` });
export const form = { 'content-type': 'application/x-www-form-urlencoded' };

export function logOf({ database }: RunningConsole): readonly Record<string, unknown>[] {
  return database.raw
    .prepare(
      'SELECT actor, role, action, outcome, source, subject, rows_seen, note FROM audit_log ORDER BY entry',
    )
    .all() as Record<string, unknown>[];
}
export const actionsOf = (world: RunningConsole) =>
  logOf(world).map(({ actor, action, outcome }) => `${actor} ${action} ${outcome}`);

const results = ['run', 'csv', 'jsonl', 'parquet', 'xlsx'];
/**
 * Pairs each statement with the page or one format, and each of these with a statement. A statement is judged in one place
 * whatever is made of its rows, and the page and each format tell that place whether names are shown.
 */
export const shownOrIn = (statements: readonly string[]): (readonly [sql: string, wanted: string])[] =>
  statements.map((sql, at) => [sql, results[at % results.length] ?? ''] as const);

export const pausedIn = ({ database }: RunningConsole): unknown[] =>
  database.raw.prepare('SELECT source FROM pauses').pluck().all();
