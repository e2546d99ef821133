import { expect, test } from 'vitest';
import type { SourceConfig } from '../../src/config/config.js';
import { catalogOf, grantsOf, resolveSources } from '../../src/daemon/resolve-sources.js';
import { type Concern, SourceIndex } from '../../src/daemon/source-index.js';
import type { CompanyId, InstallationId, SourceName } from '../../src/domain/ids.js';
import fc from '../support/property.js';

function source(name: string, installation: string | null, company: string | null): SourceConfig {
  return {
    name: name as SourceName,
    installation: installation as InstallationId | null,
    company: company as CompanyId | null,
    access: { kind: 'credentials', at: { file: '/none' }, clientId: 'pk', clientSecret: null },
    filters: {},
  };
}

/** The rule, over all sources one by one. */
function concerns(
  { installation, company }: SourceConfig,
  event: Concern,
  all: readonly SourceConfig[],
): boolean {
  if (installation !== null && event.installation !== '') {
    const isKnown = all.some((one) => one.installation === event.installation);
    if (isKnown || company === null || event.company === null) return installation === event.installation;
  }
  if (company !== null && event.company !== null) return company === event.company;
  return true;
}

const names = (sources: readonly SourceConfig[]) => sources.map(({ name }) => name).sort();

test('source index: finds exactly the sources that the rule finds one by one, whatever came and went', () => {
  const wish = fc.record({
    installation: fc.constantFrom(null, 'inst_1', 'inst_2', 'inst_3'),
    company: fc.constantFrom(null, 'co_1', 'co_2'),
    leaves: fc.boolean(),
  });
  const event = fc.record({
    installation: fc.constantFrom('', 'inst_1', 'inst_2', 'inst_9'),
    company: fc.constantFrom(null, 'co_1', 'co_2', 'co_9'),
  });
  fc.assert(
    fc.property(fc.array(wish, { maxLength: 12 }), fc.array(event, { maxLength: 8 }), (wishes, events) => {
      const all = wishes.map(({ installation, company }, n) => source(`s${n}`, installation, company));
      const index = new SourceIndex(all);
      const left = all.filter((_, n) => wishes[n]?.leaves !== true);
      for (const one of all) if (!left.includes(one)) index.remove(one.name);
      expect(names(index.all)).toEqual(names(left));
      for (const seen of events) {
        const expected = left.filter((one) => concerns(one, seen, left));
        expect(names(index.concerning(seen))).toEqual(names(expected));
        expect(names(index.withInstallation(seen.installation))).toEqual(
          names(left.filter(({ installation }) => installation === seen.installation)),
        );
      }
    }),
  );
});

test('DELIV-11 source index: an event with an installation of no source concerns those of its company', () => {
  const index = new SourceIndex([
    source('acme', 'inst_1', 'co_1'),
    source('globex', 'inst_2', 'co_2'),
    source('whole', 'inst_3', null),
  ]);
  const sourcesOf = (installation: string, company: string | null) =>
    names(index.concerning({ installation, company }));
  // That of a connected person who helps run the company.
  expect(sourcesOf('inst_9', 'co_1')).toEqual(['acme']);
  expect(sourcesOf('inst_2', 'co_1')).toEqual(['globex']);
  expect(sourcesOf('inst_9', null)).toEqual([]);
});

test('source index: an event is looked up without walking over ten thousand sources', () => {
  let reads = 0;
  const counted = (n: number): SourceConfig => {
    const one = source(`s${n}`, `inst_${n}`, `co_${n}`);
    return Object.defineProperty({ ...one }, 'name', {
      get: () => {
        reads += 1;
        return one.name;
      },
    });
  };
  const index = new SourceIndex(Array.from({ length: 10_000 }, (_, n) => counted(n)));
  reads = 0;
  const event = { event: 'investment.changed', installation: 'inst_77', company: 'co_77', test: false };
  expect(resolveSources(index, event)).toEqual(['s77']);
  expect(grantsOf(index, { ...event, event: 'installation.updated' })).toEqual(['s77']);
  expect(catalogOf(index, { ...event, event: 'offering.updated' })).toEqual(['s77']);
  expect(resolveSources(index, { ...event, installation: '' })).toEqual(['s77']);
  expect(reads).toBe(4);
});

test('source index: refuses a second source of a name', () => {
  const index = new SourceIndex([source('a', null, null)]);
  expect(() => index.add(source('a', 'inst_1', null))).toThrow('two sources are called a');
});
