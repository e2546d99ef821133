import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { listSources, type SourcesWanted, showSource, sourceNames } from '../../src/reading/sources.js';
import { statusOf } from '../../src/reading/status.js';
import { load, minimal } from '../config/load-config.js';
import { databases } from '../store/support/databases.js';
import { manySources } from '../store/support/many-sources.js';
import { StandingClock } from '../store/support/mirror.js';

const clock = new StandingClock();
const many = 10_000;
const none = { search: '', state: null, rule: null, page: 1, limit: 50 } as const;
const nothing = { daemons: [], problems: [], waits: [], spacings: {} };

describe.each(databases)('10,000 sources in $database', ({ open }) => {
  async function filled() {
    const mirror = await open();
    for (const sql of manySources(many, clock.now())) await mirror.rows(sql);
    const list = (wanted: Partial<SourcesWanted> = {}, config: Config | null = null) =>
      listSources(mirror.place, clock, config, [], { ...none, ...wanted });
    return { ...mirror, list };
  }

  test('sources: counts by state, the worst first, and pages that neither repeat nor miss a source', async () => {
    const { list, place } = await filled();
    const first = await list();
    expect(first).toMatchObject({ sources_total: many, matching: many, page: 1, pages: 200, rules: [] });
    expect(first.by_state).toEqual({
      ...{ halted: 100, failing: 100, stale: 100, attention: 0, waiting: 100, paused: 1 },
      ...{ disconnected: 0, fine: 9_599, erased: 0 },
    });
    expect(first.sources).toHaveLength(50);
    expect(new Set(first.sources.map(({ overall }) => overall))).toEqual(new Set(['halted']));
    expect(first.sources[0]).toMatchObject({
      ...{ source: 'source-00001', company_id: 'co_1', company_name: 'Company Number 1', rule: null },
      ...{ installation: null, last_error: 'the token was refused', erase_after: null },
    });
    const third = await list({ page: 3 });
    expect(third.sources.map(({ overall }) => overall)).toEqual(Array(50).fill('failing'));
    const names = new Set<string>();
    for (let page = 1; page <= 10; page += 1)
      for (const { source } of (await list({ page, limit: 1_000 })).sources) names.add(source);
    expect(names.size).toBe(many);
    expect((await list({ page: 999 })).page).toBe(200);
    expect(await sourceNames(place, clock, null, null)).toHaveLength(many);
  });

  test('sources: the search finds names, companies and ids in any case, and counts what it finds', async () => {
    const { list } = await filled();
    const byCompany = await list({ search: 'company NUMBER 4321' });
    expect(byCompany.sources.map(({ source }) => source)).toEqual(['source-04321']);
    expect(byCompany.by_state).toMatchObject({ fine: 1, halted: 0 });
    expect((await list({ search: 'co_777' })).matching).toBe(11);
    expect(
      (await list({ search: 'source-000', state: 'halted' })).sources.map(({ source }) => source),
    ).toEqual(['source-00001']);
    expect((await list({ search: '100%' })).matching).toBe(0);
    const config = {
      sources: [{ name: 'source-00009', company: null, installation: 'inst_deep', filters: {} }],
      platform: { requestsPerHour: 1_000 },
      sync: { intervalSeconds: 600, idleIntervalSeconds: 600 },
    } as unknown as Config;
    const byInstallation = await list({ search: 'INST_DEEP' }, config);
    expect(byInstallation.sources).toMatchObject([{ source: 'source-00009', installation: 'inst_deep' }]);
  });

  test('status: describes the worst 200 sources, counts all, and judges health over all', async () => {
    const { place } = await filled();
    const status = await statusOf(place, clock);
    expect(status).toMatchObject({ truncated: true, health: 'attention' });
    expect(status.sources).toHaveLength(200);
    expect(status.sources.map(({ overall }) => overall)).toEqual([
      ...Array(100).fill('halted'),
      ...Array(100).fill('failing'),
    ]);
    expect(status.counts).toMatchObject({
      ...{ sources: many, readable: many - 100, unreadable: 100, rows: (many * (many + 1)) / 2 },
      oldest_success_at: new Date(clock.now() - 600 * 60_000).toISOString(),
    });
    const one = await statusOf(place, clock, null, nothing, { only: ['source-00007'] });
    expect(one).toMatchObject({ truncated: false, health: 'attention', counts: { sources: many } });
    expect(one.sources.map(({ source }) => source)).toEqual(['source-00007']);
  });

  test('status: the time left of a listing is known unless its daemon has more of them than it reads at once', async () => {
    const { place, rows, insert } = await filled();
    const time = (seconds: number) => new Date(clock.now() + seconds * 1_000).toISOString();
    const first = { source_no: 4, kind: 'first', generation: 1, restarts: 0 };
    await insert('listings', { ...first, pages: 100, rows: 10_000, started_at: time(-30) });
    await rows(`UPDATE sources SET pages_incoming = 100, rows_incoming = 10000, rows_expected = 20000,
                retry_at = '${time(60)}', last_error_code = 'rate_limited' WHERE no = 4`);
    const listed = [0, 1, 2, 3, 4].map((n) => ({
      name: `source-00${n}04`,
      token: { env: `TOKEN_${n}` },
      filters: { offeringId: `ofr_${n}` },
    }));
    const { config } = load({ ...minimal, sources: listed });
    const timeLeft = async () => {
      const { sources } = await statusOf(place, clock, config, nothing, { only: ['source-00004'] });
      return sources[0]?.listing?.seconds_left;
    };
    expect(await timeLeft()).toBe(null);
    if (place.kind === 'sqlite') return;
    await rows(`INSERT INTO fleet_members (member, version, sources, joined_at, seen_at, schema)
                VALUES ('m', '0.3.0', '{}', fleet_clock(), fleet_clock(), 1)`);
    await rows("INSERT INTO fleet_sources VALUES ('source-00004', 'm', fleet_clock())");
    expect(await timeLeft()).toBe(60 + 100 * 0.3);
  });

  test('sources show: one source with its company, or null for a name that no source has', async () => {
    const { place } = await filled();
    expect(await showSource(place, clock, null, nothing, 'source-00005')).toMatchObject({
      ...{ source: 'source-00005', overall: 'paused', company_name: 'Company Number 5', origin: 'unlisted' },
      ...{ token: null, rows: 5, ticks: [] },
    });
    expect(await showSource(place, clock, null, nothing, 'source-99999')).toBeNull();
  });
});
