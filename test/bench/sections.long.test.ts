import { expect, test } from 'vitest';
import { postgresUrl } from '../postgres/fresh-database.js';
import type { Scale } from './measures.js';
import { asJson, table } from './report.js';
import { sections } from './sections/index.js';

/** Too little to measure speed: it only shows that every section still runs and returns its figures. */
const tiny: Scale = {
  records: [300],
  rounds: 1,
  turns: 2,
  warmUp: 1,
  farPages: 2,
  growth: [100, 300],
  soak: 4,
  soakSeconds: null,
  burst: 300,
  requests: 4,
  starts: 1,
  live: { seconds: 0.03, rates: [30], sources: [1, 3], restMillis: 20 },
  sequence: 3,
  deliveries: 20,
  stalls: { records: [300], seconds: 0.01, perSecond: 8, settleMillis: 50 },
  sandbox: { companies: 5, records: 2 },
  apart: false,
  network: false,
  postgres: null,
};

/** How many figures each section returns; add new sections here. */
const figures: Readonly<Record<string, number>> = {
  bootstrap: 13,
  relisting: 4,
  delta: 12,
  tick: 8,
  webhook: 12,
  live: 18,
  sequence: 7,
  accept: 12,
  stalls: 82,
  wan: 2,
  sources: 6,
  queries: 16,
  start: 9,
  growth: 12,
  requests: 5,
  platform: 9,
  sandbox: 13,
  postgres: 3,
  soak: 3,
  hostile: 6,
  peer: 0,
};

test('the table has the number of figures of every bench section', () => {
  expect(sections.map(({ name }) => name).sort()).toEqual(Object.keys(figures).sort());
});

test.each([...sections])('bench section $name returns its figures', { timeout: 240_000 }, async (section) => {
  const measures = await section.measure({ ...tiny, postgres: await postgresUrl() }, 300);
  expect(measures).toHaveLength(figures[section.name] ?? 0);
  expect(new Set(measures.map(({ name }) => name)).size).toBe(measures.length);
  for (const { name, value, low, high } of measures) {
    expect(Number.isFinite(value) && low <= value && value <= high, name).toBe(true);
  }
  const at = { date: 'today', machine: 'this', node: 'v0', commit: 'none', rounds: 1 };
  const measured = [{ section, records: null, measures }];
  expect(
    table(measured)
      .split('\n')
      .filter((line) => line.startsWith('| ')).length,
  ).toBe(measures.length + 2);
  expect(JSON.parse(JSON.stringify(asJson(at, measured))).sections[0].measures).toHaveLength(measures.length);
});
