import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/runtime/clock.js';
import { databases } from '../store/support/databases.js';
import { manySources } from '../store/support/many-sources.js';
import { fakeIo, rosterd } from './fake-io.js';
import { type FilledMirror, filledMirror } from './filled-mirror.js';

describe('rosterd sources, with one source', () => {
  let world: FilledMirror;
  beforeAll(async () => {
    world = await filledMirror();
    await world.sync();
  });
  afterAll(() => world.close());

  test('sources list prints the number in each state, and one line for each source', async () => {
    const { code, out } = await world.run(['sources', 'list']);
    expect(code).toBe(0);
    const [counts, , line] = out.split('\n');
    expect(counts).toBe('1 source: 1 fine');
    expect(line).toMatch(/^acme\s+fine\s+\S.*-$/);
    const none = await world.run(['sources', 'list', 'nothing-like-it']);
    expect([none.code, none.out]).toEqual([0, '0 of 1 source\nno source matches\n']);
  });

  test('sources show prints what it mirrors and where its token comes from, never the token', async () => {
    const { code, out } = await world.run(['sources', 'show', 'acme']);
    expect(code).toBe(0);
    expect(out).toContain('state           fine: following the feed\n');
    expect(out).toContain(`(${world.company.id})`);
    expect(out).toContain('origin          listed in the configuration\n');
    expect(out).toContain('ACME');
    expect(out).toMatch(/start(?:ed)? first|manual/);
    expect(out).not.toContain(world.company.token);
    const { out: json } = await world.run(['sources', 'show', 'acme', '--json']);
    expect(json).not.toContain(world.company.token);
    expect(JSON.parse(json)).toMatchObject({ source: 'acme', overall: 'fine', origin: 'listed', rule: null });
  });

  test('sources pause and resume act by name, and refuse unknown names and no choice', async () => {
    const paused = await world.run(['sources', 'pause', 'acme']);
    expect([paused.code, paused.out]).toEqual([0, expect.stringMatching(/^acme: paused since 20/)]);
    expect(paused.err).toMatch(/To go on: rosterd sources resume acme\n/);
    expect((await world.run(['sources', 'list', '--state', 'paused', '--json'])).out).toContain(
      '"matching":1',
    );
    expect((await world.run(['sync'])).code).toBe(5);
    const resumed = await world.run(['sources', 'resume', '--all']);
    expect([resumed.code, resumed.out]).toEqual([0, 'resumed: acme\n']);
    expect((await world.run(['sync'])).code).toBe(0);
    for (const [args, message] of [
      [['sources', 'pause', 'acmee'], 'no source is called "acmee"'],
      [['sources', 'pause'], 'no source is named'],
      [['sources', 'resume', 'acme', '--all'], 'give names, --rule or --all, not several'],
      [['sources', 'pause', '--rule', 'crm'], 'no follow rule called "crm" has a source'],
      [['sources', 'show', 'nobody'], 'no source is called "nobody"'],
      [['sources', 'list', '--rule', 'crm'], 'no follow rule called "crm" has a source'],
    ] as const) {
      const { code, err } = await world.run(args);
      expect([args, code, err]).toEqual([args, 2, expect.stringContaining(message)]);
    }
  });
});

describe.each(databases)('rosterd with 1,000 sources in $database', ({ open }) => {
  test('status prints the number in each state and the worst, and names the command for the others', async () => {
    const mirror = await open();
    for (const sql of manySources(1_000, systemClock.now())) await mirror.rows(sql);
    const { place } = mirror;
    const database = place.kind === 'sqlite' ? place.file : place.url;
    const io = () => fakeIo({ clock: systemClock });
    const status = await rosterd(['status', '--database', database], io());
    const lines = status.out.split('\n');
    expect(lines[0]).toBe('1,000 sources: 10 halted, 10 failing, 10 stale, 10 waiting, 1 paused, 959 fine');
    expect(lines[1]).toBe('the 20 worst; the others: rosterd sources list');
    expect(lines.filter((line) => /^source-\d+ /.test(line))).toHaveLength(20);
    const json = JSON.parse((await rosterd(['status', '--json', '--database', database], io())).out);
    expect([json.truncated, json.sources.length, json.counts.sources]).toEqual([true, 200, 1_000]);
    expect((await rosterd(['status', '--check', '--database', database], io())).code).toBe(1);
    const list = await rosterd(
      ['sources', 'list', '--limit', '5', '--page', '3', '--database', database],
      io(),
    );
    expect(list.out.split('\n')[2]).toMatch(/^source-00002\s+failing\s+Company Number 2\s+2\s/);
    expect(list.err).toContain('page 3 of 200; next: --page 4');
  });
});
