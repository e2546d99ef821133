import { expect, test } from 'vitest';
import { postgresUrl } from '../postgres/fresh-database.js';
import type { Scale } from './measures.js';
import { asJson, table } from './report.js';
import { sections } from './sections/index.js';

/** So little that it says nothing about speed: whether every section still runs and gives its figures. */
const tiny: Scale = {
  ...{
    records: [300],
    rounds: 1,
    turns: 2,
    warmUp: 1,
    farPages: 2,
    growth: [100, 300],
    soak: 4,
    soakSeconds: null,
  },
  ...{ burst: 300, requests: 4, starts: 1, apart: false, network: false, postgres: null },
};

/** How many figures each gives; a section that is added says so here. */
const figures: Readonly<Record<string, number>> = {
  ...{ bootstrap: 11, relisting: 4, delta: 6, webhook: 6, wan: 2, queries: 15, start: 9, growth: 12 },
  ...{ requests: 5, platform: 9, postgres: 3, soak: 3, hostile: 6, peer: 0 },
};

test('there is a number of figures for every section', () => {
  expect(sections.map(({ name }) => name).sort()).toEqual(Object.keys(figures).sort());
});

test.each([...sections])('$name gives its figures', { timeout: 240_000 }, async (section) => {
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
