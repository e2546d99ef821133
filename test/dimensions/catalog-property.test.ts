import { expect, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { type Engine, startEngine } from '../../src/daemon/engine.js';
import type { Sandbox } from '../../src/platform/sandbox/sandbox.js';
import { dialectFor } from '../../src/store/dialect/dialect-for.js';
import { configFor, control, freshFolder, partsFor, sandboxFor } from '../daemon/daemon-fixture.js';
import { migratedDatabase } from '../postgres/fresh-database.js';
import fc from '../support/property.js';

/*
 * Random changes of companies, rounds, posts and investments, with events that are lost or doubled, ticks and restarts
 * between them. At the end, the mirror equals what a listing by hand finds.
 */

const pick = fc.nat({ max: 50 });
const step = fc.oneof(
  fc.record({ do: fc.constant('open' as const), reservations: fc.boolean() }),
  fc.record({ do: fc.constant('move' as const), pick, to: fc.constantFrom('closed', 'canceled') }),
  fc.record({ do: fc.constant('terms' as const), pick, targetCents: fc.integer({ min: 0, max: 10 ** 12 }) }),
  fc.record({ do: fc.constant('hide' as const), pick, private: fc.boolean() }),
  fc.record({
    do: fc.constant('rename' as const),
    name: fc.constantFrom('Tidal Labs', 'Élodie & Søns', 'A "B"'),
  }),
  fc.record({ do: fc.constant('hideCompany' as const), hidden: fc.boolean() }),
  fc.record({ do: fc.constant('post' as const), title: fc.constantFrom('One', 'Two') }),
  fc.record({ do: fc.constant('withdrawPost' as const), pick }),
  fc.record({ do: fc.constant('invest' as const), pick }),
  fc.record({ do: fc.constant('churn' as const) }),
  fc.record({ do: fc.constant('event' as const), times: fc.nat({ max: 2 }) }),
  fc.record({ do: fc.constant('tick' as const) }),
  fc.record({ do: fc.constant('restart' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

async function play(config: Config, sandbox: Sandbox, steps: readonly Step[]): Promise<Engine> {
  const company = sandbox.ready.companies[0]?.id ?? '';
  const source = config.sources[0]?.name;
  if (source === undefined) throw new Error('the configuration has no source');
  const ask = async (method: string, path: string, body?: unknown): Promise<void> => {
    // A step that the platform refuses, such as closing a closed round, changes nothing.
    await control(sandbox, method, path, body).catch(() => {});
  };
  const idsOf = (sql: string) => sandbox.services.state.prepare(sql).pluck().all(company) as string[];
  const chosen = (ids: readonly string[], at: number) => ids[at % Math.max(1, ids.length)] ?? 'none';
  const round = (at: number) =>
    chosen(idsOf('SELECT o.id FROM offerings o JOIN companies c ON c.no = o.company_no WHERE c.id = ?'), at);
  const tick = async (engine: Engine) => {
    const { report } = await engine.sync.tick(source);
    engine.dimensions?.ticked(source, report.outcome === 'done');
    await engine.dimensions?.idle();
  };
  let engine = await startEngine(partsFor(config));
  await tick(engine);
  for (const one of steps) {
    switch (one.do) {
      case 'open':
        await ask('POST', '/offerings', { company, reservations: one.reservations });
        break;
      case 'move':
        await ask('PATCH', `/offerings/${round(one.pick)}`, { status: one.to });
        break;
      case 'terms':
        await ask('PATCH', `/offerings/${round(one.pick)}`, { targetCents: one.targetCents });
        break;
      case 'hide':
        await ask('PATCH', `/offerings/${round(one.pick)}`, { private: one.private });
        break;
      case 'rename':
        await ask('PATCH', `/companies/${company}`, { name: one.name });
        break;
      case 'hideCompany':
        await ask('PATCH', `/companies/${company}`, { hidden: one.hidden });
        break;
      case 'post':
        await ask('POST', `/companies/${company}/updates`, { title: one.title });
        break;
      case 'withdrawPost':
        await ask(
          'DELETE',
          `/updates/${chosen(idsOf('SELECT u.id FROM company_updates u JOIN companies c ON c.no = u.company_no WHERE c.id = ?'), one.pick)}`,
        );
        break;
      case 'invest':
        await ask('POST', '/investments', { company, set: { offering: round(one.pick) } });
        break;
      case 'churn':
        await ask('POST', '/churn', { changes: 5, company });
        break;
      case 'event':
        for (let time = 0; time < one.times; time += 1) engine.dimensions?.touched(source, 'offering.opened');
        break;
      case 'tick':
        await tick(engine);
        break;
      case 'restart':
        await engine.close();
        engine = await startEngine(partsFor(config));
        await tick(engine);
        break;
    }
  }
  await tick(engine);
  await engine.dimensions?.refresh(source, true);
  return engine;
}

interface Resource {
  readonly data: { readonly attributes: Readonly<Record<string, unknown>> } & Readonly<
    Record<string, unknown>
  >;
}

/** What a person with the token sees by hand: written apart from the code under test. */
async function byHand({ ready }: Sandbox, investedIn: readonly string[]) {
  const { id, token } = ready.companies[0] ?? { id: '', token: '' };
  const get = async (path: string): Promise<Resource | null> => {
    const response = await fetch(`${ready.baseUrl}${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return response.ok ? ((await response.json()) as Resource) : null;
  };
  const company = await get(`/companies/${id}`);
  const listed = (company?.data.attributes.service_rounds ?? []) as { offering_id: string; status: string }[];
  const rounds = [];
  for (const round of [...new Set([...listed.map(({ offering_id }) => offering_id), ...investedIn])].sort()) {
    const served = await get(`/offerings/${round}`);
    const own = served?.data.attributes;
    rounds.push({
      id: round,
      status: own?.status ?? listed.find(({ offering_id }) => offering_id === round)?.status ?? null,
      target_cents: own?.funding_target_cents ?? null,
      raised: own?.amount_raised_cents ?? null,
      hidden: served === null,
    });
  }
  const stats = [];
  for (const { id: round } of rounds) {
    const counted = (await get(`/offerings/${round}/stats`))?.data.by_status as
      | Record<string, { count: number; raised_cents: number }>
      | undefined;
    for (const [status, { count, raised_cents }] of Object.entries(counted ?? {}))
      stats.push({ offering_id: round, status, investments: count, raised_cents });
  }
  const posts = (await get(`/companies/${id}/updates?per_page=50`))?.data as unknown as
    | { id: string }[]
    | null;
  return {
    companies: [{ id, name: company?.data.attributes.name ?? null, hidden: company === null }],
    rounds,
    stats: stats.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
    posts: (posts ?? []).map((post) => post.id).sort(),
  };
}

/** The same from the views of the mirror. */
function held(config: Config) {
  return dialectFor(config.database).inSnapshot(async (ask) => ({
    companies: (
      await ask<{ id: string; name: string | null; unavailable: string | null }>`
      SELECT id, name, unavailable FROM companies ORDER BY id`
    ).map(({ id, name, unavailable }) => ({
      id,
      name,
      hidden: unavailable !== null,
    })),
    rounds: (
      await ask<{ id: string; status: string; target: number; raised: number; why: string | null }>`
      SELECT id, status, target_cents AS target, raised_cents_reported AS raised, unavailable AS why
      FROM rounds ORDER BY id`
    ).map(({ id, status, target, raised, why }) => ({
      id,
      status,
      target_cents: target,
      raised: why === null ? raised : null,
      hidden: why !== null,
    })),
    stats: [
      ...(await ask<object>`
        SELECT offering_id, status, investments, raised_cents FROM round_stats`),
    ].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
    posts: (await ask<{ id: string }>`SELECT id FROM company_updates ORDER BY id`).map(({ id }) => id),
  }));
}

test.each(['sqlite', 'postgres'])(
  'after any changes, lost events and restarts the mirror equals a listing by hand (%s)',
  async (kind) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        const sandbox = await sandboxFor({ companies: 1, records: 20, limits: false });
        const database = kind === 'sqlite' ? undefined : await migratedDatabase();
        const made = configFor(sandbox, {
          folder: freshFolder(),
          ...(database === undefined ? {} : { database: database.url }),
        });
        const config: Config = { ...made, platform: { ...made.platform, requestsPerHour: null } };
        const engine = await play(config, sandbox, steps);
        try {
          const invested = await dialectFor(config.database).inSnapshot(
            (ask) => ask<{ id: string }>`SELECT DISTINCT offering_id AS id FROM investments`,
          );
          const found = await held(config);
          const expected = await byHand(
            sandbox,
            invested.map(({ id }) => id),
          );
          // A hidden company is still named by its rounds, where one of them is served.
          if (expected.companies[0]?.hidden === true && found.companies[0] !== undefined)
            expected.companies[0].name = found.companies[0].name;
          expect(found).toEqual(expected);
          const [feed] = await dialectFor(config.database).inSnapshot(
            (ask) => ask<{ holes: number }>`SELECT max(seq) - count(*) AS holes FROM changes`,
          );
          expect(feed).toEqual({ holes: 0 });
        } finally {
          await engine.close();
          await database?.drop();
        }
      }),
      { numRuns: kind === 'sqlite' ? 4 : 2 },
    );
  },
);
