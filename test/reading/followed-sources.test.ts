import { describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { conditionsOf } from '../../src/daemon/alert-conditions.js';
import { mirrorChecks } from '../../src/doctor/mirror-checks.js';
import { waitForFreshness } from '../../src/reading/freshness.js';
import { listSources, type SourcesWanted, showSource } from '../../src/reading/sources.js';
import { statusOf } from '../../src/reading/status.js';
import { inSnapshot } from '../../src/store/reads/snapshot.js';
import { readJudgedSources } from '../../src/store/reads/source-facts.js';
import { databases, type Row } from '../store/support/databases.js';
import { StandingClock, sourceRow } from '../store/support/mirror.js';

const clock = new StandingClock();
const at = (minutes: number) => new Date(clock.now() + minutes * 60_000).toISOString();
const config = {
  sources: [{ name: 'listed', company: null, installation: null, filters: {}, access: { kind: 'stored' } }],
  platform: { requestsPerHour: 1_000 },
  sync: { intervalSeconds: 600, idleIntervalSeconds: 600 },
  afterSync: [],
  receiver: null,
  backup: { everyMillis: null },
  exports: { everyMillis: null },
  lake: { everyMillis: null },
} as unknown as Config;
const nothing = { daemons: [], problems: [], waits: [], spacings: {} };

const entry = (source: string, over: Row): Row => ({
  source,
  rule: 'crm',
  realm: 'live',
  target_type: 'company',
  target: `co_${source}`,
  installation: `inst_${source}`,
  state: 'connected',
  reason: null,
  scopes: 'read:investments',
  mints: 1,
  last_mint_at: at(-60),
  first_seen_at: at(-60),
  connected_at: at(-60),
  disconnected_at: null,
  erase_after: null,
  erased_at: null,
  erased_rows: null,
  ...over,
});

const ticked = { last_tick_at: at(-1), last_success_at: at(-1), last_outcome: 'done' };

describe.each(databases)('followed sources in $database', ({ open }) => {
  async function filled() {
    const mirror = await open();
    const sources = ['listed', 'here', 'left', 'stray'];
    for (const [index, name] of sources.entries())
      await mirror.insert('sources', sourceRow(index + 1, { name, ...ticked }));
    await mirror.insert('followed_sources', entry('here', {}));
    await mirror.insert('followed_sources', entry('new', { state: 'waiting', mints: 0 }));
    const ended = { state: 'disconnected', reason: 'revoked', disconnected_at: at(-30) };
    await mirror.insert('followed_sources', entry('left', { ...ended, erase_after: at(1_440) }));
    await mirror.insert(
      'followed_sources',
      entry('past', { ...ended, rule: 'fund', state: 'erased', erased_at: at(-5), erased_rows: 77 }),
    );
    const list = (wanted: Partial<SourcesWanted> = {}) =>
      listSources(mirror.place, clock, config, [], {
        ...{ search: '', state: null, rule: null, page: 1, limit: 50 },
        ...wanted,
      });
    return { ...mirror, list };
  }

  test('sources: a followed source is followed, a disconnected one is no fault, and a stray one needs a person', async () => {
    const { list } = await filled();
    const { sources, by_state, rules, sources_total } = await list();
    expect(
      sources.map(({ source, overall, health, followed }) => [source, overall, health, followed]),
    ).toEqual([
      ['stray', 'attention', 'attention', false],
      ['new', 'waiting', 'working', true],
      ['left', 'disconnected', 'ok', false],
      ['here', 'fine', 'ok', true],
      ['listed', 'fine', 'ok', true],
      ['past', 'erased', 'ok', false],
    ]);
    expect([sources_total, rules, by_state.fine]).toEqual([6, ['crm', 'fund'], 2]);
    expect(sources[2]).toMatchObject({
      ...{ rule: 'crm', company_id: 'co_left', installation: 'inst_left', erase_after: at(1_440) },
      concerns: [
        {
          code: 'disconnected',
          text: `disconnected since ${at(-30)} (revoked); its rows are erased after ${at(1_440)}`,
        },
      ],
    });
    expect((await list({ rule: 'fund' })).sources.map(({ source }) => source)).toEqual(['past']);
    expect((await list({ search: 'INST_here' })).sources.map(({ source }) => source)).toEqual(['here']);
    expect((await list({ search: 'co_new' })).sources.map(({ source }) => source)).toEqual(['new']);
  });

  test('status: a new installation does not keep the daemon from being ready, and none that left counts', async () => {
    const { place } = await filled();
    const { counts, health } = await statusOf(place, clock, config);
    expect([health, counts]).toMatchObject([
      'attention',
      { sources: 6, readable: 4, unreadable: 1, not_ready: 0, oldest_success_at: at(-1) },
    ]);
  });

  test('status: the tick of one of 500 followed sources is overdue only after the time that it may wait', async () => {
    const mirror = await open();
    await mirror.insert('followed_sources', entry('here', {}));
    await mirror.rows(
      `INSERT INTO followed_sources
         (source, rule, realm, target_type, target, installation, state, mints, first_seen_at)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 499)
       SELECT 'more-' || i, 'crm', 'live', 'company', 'co_' || i, 'inst_' || i, 'waiting', 0, '${at(-60)}' FROM n`,
    );
    const seen = async (minutes: number) => {
      const time = { last_tick_at: at(-minutes), last_success_at: at(-minutes), last_outcome: 'done' };
      await mirror.rows("DELETE FROM sources WHERE name = 'here'");
      await mirror.insert('sources', sourceRow(1, { name: 'here', ...time }));
      const { sources } = await statusOf(mirror.place, clock, config, nothing, { only: ['here'] });
      return sources.map(({ stale }) => stale);
    };
    // They are read every 15 minutes, up to a quarter later, and may wait 5 minutes for the requests of the address.
    expect(await seen(24)).toEqual([false]);
    expect(await seen(25)).toEqual([true]);
  });

  test('sources show: a followed source has its rule, its installation and no secret', async () => {
    const { place } = await filled();
    expect(await showSource(place, clock, config, nothing, 'here')).toMatchObject({
      ...{ origin: 'followed', rule: 'crm', installation: 'inst_here', company_id: 'co_here' },
      token: 'minted for the installation, in the vault of rosterd',
    });
    expect(await showSource(place, clock, config, nothing, 'past')).toMatchObject({
      ...{ origin: 'followed', overall: 'erased', rows: 0, follow: { erased_rows: 77 } },
    });
  });

  test('wait: every source that a rule follows counts, one without a token too, and none that left', async () => {
    const { place, rows } = await filled();
    await rows(`UPDATE sources SET published_through = '${at(-1_000)}' WHERE name = 'left'`);
    const look = async (sources: string[], configured: { listed: string[]; rules: string[] } | null) => {
      const ask = { ageMillis: 300_000, timeoutMillis: 0, sources, configured };
      const seen = await waitForFreshness(place, ask, clock, new AbortController().signal);
      return [seen.verdict, ...seen.sources.map(({ source, fresh }) => `${source} ${fresh}`)];
    };
    const crm = { listed: ['listed'], rules: ['crm'] };
    expect(await look([], crm)).toEqual(['waiting', 'listed true', 'here true', 'new false']);
    await rows("DELETE FROM followed_sources WHERE source = 'new'");
    expect(await look([], crm)).toEqual(['fresh', 'listed true', 'here true']);
    expect(await look([], { ...crm, listed: [] })).toEqual(['fresh', 'here true']);
    expect(await look([], { listed: [], rules: ['empty'] })).toEqual(['waiting']);
    expect(await look(['here'], crm)).toEqual(['fresh', 'here true']);
    // Its rows are of an installation that ended.
    await rows("UPDATE followed_sources SET state = 'waiting' WHERE source = 'here'");
    expect(await look(['here'], crm)).toEqual(['waiting', 'here false']);
    await rows("UPDATE followed_sources SET state = 'connected' WHERE source = 'here'");
    await expect(look(['stray'], crm)).rejects.toMatchObject({ about: { hint: 'one of: listed, here' } });
    expect(await look([], null)).toEqual(['fresh', 'here true', 'listed true', 'stray true']);
    expect(await look(['left'], null)).toEqual(['waiting', 'left false']);
    await rows(`UPDATE sources SET published_through = '${at(-1_000)}' WHERE name = 'here'`);
    expect(await look([], crm)).toEqual(['waiting', 'listed true', 'here false']);
  });

  test('doctor: names a followed source that needs a person, and none that is fine or left', async () => {
    const { place, rows } = await filled();
    const found = async () =>
      mirrorChecks(await statusOf(place, clock, config), config.sources)
        .filter(({ name }) => /^\w+\.(?:here|new|left|past)$/.test(name))
        .map(({ name, verdict, message, mend }) => [name, verdict, message, mend]);
    expect(await found()).toEqual([]);
    await rows(`UPDATE sources SET state = 'halted', halted_from = 'following', halted_code = 'forbidden',
      halted_message = 'the token lacks a scope', halted_at = '${at(-3)}', last_outcome = 'failed',
      last_error_code = 'forbidden', last_error = 'the token lacks a scope' WHERE name = 'here'`);
    expect(await found()).toEqual([
      [
        'health.here',
        'fail',
        'stopped, a person has to help: the token lacks a scope',
        'rosterd sync --source here',
      ],
    ]);
  });

  test('doctor: of many followed sources that need a person, it names 20', async () => {
    const { place, insert } = await filled();
    for (let n = 10; n < 32; n += 1) {
      const halted = { state: 'halted', halted_from: 'following', halted_code: 'forbidden' };
      await insert('sources', sourceRow(n, { name: `ill-${n}`, ...ticked, ...halted, halted_at: at(-3) }));
      await insert('followed_sources', entry(`ill-${n}`, {}));
    }
    const checks = mirrorChecks(await statusOf(place, clock, config, nothing, { sourcesMax: 100 }), []);
    const ill = checks.filter(({ name }) => name.startsWith('health.ill-'));
    expect(ill.map(({ verdict }) => verdict)).toEqual(Array(20).fill('fail'));
    expect(checks.find(({ name }) => name === 'health')).toMatchObject({
      verdict: 'warn',
      message: '2 other sources of follow rules also fail or need a person',
      mend: 'rosterd sources list',
    });
  });

  test('alerts: a disconnected source raises none, whatever its row says', async () => {
    const { place, rows } = await filled();
    await rows(`UPDATE sources SET state = 'halted', halted_from = 'following', halted_code = 'unauthorized',
      halted_message = 'refused', halted_at = '${at(-1)}' WHERE name IN ('left', 'here')`);
    const judged = await inSnapshot(place, (ask) =>
      readJudgedSources(ask, clock.now(), { configured: ['listed'] }),
    );
    const status = { sources: judged, endpoint: null, backup: null, exports: null, lake: null, problems: [] };
    const facts = { status, freeBytes: null, failingSince: new Map<string, number>(), uncheckedSince: null };
    const settings = { failingMinutes: 15, diskFreeMegabytes: 1_024 };
    const raised = conditionsOf(facts, settings, clock.now());
    expect(raised.map(({ kind, source }) => `${kind} ${source}`)).toEqual(['halted here']);
  });
});
